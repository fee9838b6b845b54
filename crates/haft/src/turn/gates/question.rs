//! The question of an approval, with the arguments of the call in it.

use serde_json::Value;

/// How many characters of an argument a question shows.
const MAX_SHOWN: usize = 200;

/// Replaces `{name}` by the argument of that name, as JSON: a text of a model stays between quotes and on one line. Braces
/// around anything else stay as they are.
pub(super) fn fill_question(question: &str, args: &Value) -> String {
    let mut text = String::with_capacity(question.len());
    let mut rest = question;
    while let Some((before, after)) = rest.split_once('{') {
        text.push_str(before);
        let argument =
            after.split_once('}').and_then(|(name, behind)| Some((args.get(name)?, behind)));
        match argument {
            Some((value, behind)) => {
                push_excerpt(&value.to_string(), &mut text);
                rest = behind;
            }
            None => {
                text.push('{');
                rest = after;
            }
        }
    }
    text.push_str(rest);
    text
}

fn push_excerpt(value: &str, text: &mut String) {
    text.extend(value.chars().take(MAX_SHOWN));
    if value.chars().nth(MAX_SHOWN).is_some() {
        text.push('…');
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::fill_question;

    #[test]
    fn arguments_stand_in_the_question() {
        let args = json!({"name": "v1\nyes", "count": 3, "other": "{count}"});
        assert_eq!(fill_question("Set {name}?", &args), r#"Set "v1\nyes"?"#);
        assert_eq!(fill_question("{count} of {unknown} {", &args), "3 of {unknown} {");
        assert_eq!(fill_question("{other}", &args), r#""{count}""#, "a value is not filled again");
        let long = json!({"name": "x".repeat(500)});
        assert_eq!(fill_question("{name}", &long).chars().count(), 201);
    }
}
