//! Descriptions of executors that can be stored and compared.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Describes the executor of a turn. It is stored when the turn begins, so that the turn is resumed with the same
/// executor.
///
/// ```
/// use haft_core::step::ExecutorDescription;
///
/// let model = ExecutorDescription::model("openai", "gpt-5-mini", "https://api.openai.com/v1");
/// let script = ExecutorDescription::script(Some("greeting"), "9f86d081");
/// assert!(model.differences(&model).is_empty());
/// assert_eq!(model.differences(&script).len(), 1);
/// assert_eq!(model.to_string(), "model `gpt-5-mini` of `openai`");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ExecutorDescription {
    /// A model behind an API.
    Model {
        /// The provider, by the name that the application gave it.
        provider: String,
        /// The model.
        model: String,
        /// The options, without headers: those may carry keys.
        #[serde(default, skip_serializing_if = "Map::is_empty")]
        options: Map<String, Value>,
        /// The address of the API, without credentials. It is compared and never used.
        base_url: String,
    },
    /// A script.
    Script {
        /// Its name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
        /// The SHA-256 of its content.
        sha256: String,
    },
    /// Code of the application.
    Custom {
        /// A name that distinguishes it from other code; none by default.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
}

impl ExecutorDescription {
    /// A model of a provider, without options.
    #[must_use]
    pub fn model(
        provider: impl Into<String>,
        model: impl Into<String>,
        base_url: impl Into<String>,
    ) -> Self {
        let provider = provider.into();
        let model = model.into();
        let base_url = base_url.into();
        Self::Model { provider, model, options: Map::new(), base_url }
    }

    /// A script with the SHA-256 of its content.
    #[must_use]
    pub fn script(name: Option<&str>, sha256: impl Into<String>) -> Self {
        Self::Script { name: name.map(str::to_owned), sha256: sha256.into() }
    }

    /// Code of the application that has a name of its own.
    #[must_use]
    pub fn custom(name: impl Into<String>) -> Self {
        Self::Custom { name: Some(name.into()) }
    }

    /// The differences between this executor and another one, in words. If there are none, the other executor can
    /// continue the turns of this one.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Vec<String> {
        match (self, other) {
            (
                Self::Model { provider, model, options, base_url },
                Self::Model {
                    provider: other_provider,
                    model: other_model,
                    options: other_options,
                    base_url: other_url,
                },
            ) => {
                let pairs = [
                    ("the provider", provider, other_provider),
                    ("the model", model, other_model),
                    ("the base URL", base_url, other_url),
                ];
                let texts = pairs.into_iter().filter(|(_, before, now)| before != now);
                let texts = texts
                    .map(|(what, before, now)| format!("{what} was `{before}` and is `{now}`"));
                texts.chain(option_differences(options, other_options)).collect()
            }
            (Self::Script { sha256, .. }, Self::Script { sha256: other_sha256, .. }) => {
                let is_same = sha256 == other_sha256;
                (!is_same).then(|| "the script has changed".to_owned()).into_iter().collect()
            }
            (before, now) if before == now => Vec::new(),
            (before, now) => vec![format!("it was {before} and is {now}")],
        }
    }
}

fn option_differences<'a>(
    before: &'a Map<String, Value>,
    now: &'a Map<String, Value>,
) -> impl Iterator<Item = String> + 'a {
    let shown = |value: Option<&Value>| match value {
        Some(value) => format!("was `{value}`"),
        None => "was not set".to_owned(),
    };
    let names = before.keys().chain(now.keys().filter(|name| !before.contains_key(*name)));
    let changed = names.filter(move |name| before.get(*name) != now.get(*name));
    changed.map(move |name| {
        let now = now.get(name).map_or_else(|| "is not set".to_owned(), |it| format!("is `{it}`"));
        format!("the option `{name}` {} and {now}", shown(before.get(name)))
    })
}

impl Default for ExecutorDescription {
    /// Code of the application without a name.
    fn default() -> Self {
        Self::Custom { name: None }
    }
}

/// A name for messages, without options and addresses.
impl fmt::Display for ExecutorDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model { provider, model, .. } => write!(f, "model `{model}` of `{provider}`"),
            Self::Script { name: Some(name), .. } => write!(f, "script `{name}`"),
            Self::Script { name: None, .. } => f.write_str("a script"),
            Self::Custom { name: Some(name) } => write!(f, "custom executor `{name}`"),
            Self::Custom { name: None } => f.write_str("a custom executor"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::ExecutorDescription;

    fn model(change: &[(&str, &str)], temperature: Option<f64>) -> ExecutorDescription {
        let mut stored = json!({
            "kind": "model", "provider": "openai", "model": "m", "base_url": "https://api",
            "options": {"max_tokens": 10},
        });
        for (field, value) in change {
            stored[*field] = json!(value);
        }
        if let Some(temperature) = temperature {
            stored["options"]["temperature"] = json!(temperature);
        }
        serde_json::from_value(stored).unwrap()
    }

    #[test]
    fn every_part_of_a_model_is_compared() {
        let before = model(&[], Some(0.2));
        assert_eq!(before.differences(&before), [""; 0]);
        let changes = [
            (
                model(&[("provider", "ollama")], Some(0.2)),
                "the provider was `openai` and is `ollama`",
            ),
            (model(&[("model", "n")], Some(0.2)), "the model was `m` and is `n`"),
            (
                model(&[("base_url", "https://other")], Some(0.2)),
                "the base URL was `https://api` and is `https://other`",
            ),
            (model(&[], Some(0.3)), "the option `temperature` was `0.2` and is `0.3`"),
            (model(&[], None), "the option `temperature` was `0.2` and is not set"),
        ];
        for (now, difference) in changes {
            assert_eq!(before.differences(&now), [difference]);
        }
        assert_eq!(
            model(&[], None).differences(&before),
            ["the option `temperature` was not set and is `0.2`"]
        );
    }

    #[test]
    fn a_script_and_a_model_never_stand_for_each_other() {
        let script = ExecutorDescription::script(Some("a"), "1");
        let model = model(&[], None);
        for (before, now) in [(&script, &model), (&model, &script)] {
            assert_eq!(before.differences(now), [format!("it was {before} and is {now}")]);
        }
        // The name is for people; the hash decides.
        assert!(script.differences(&ExecutorDescription::script(None, "1")).is_empty());
        assert_eq!(
            script.differences(&ExecutorDescription::script(Some("a"), "2")),
            ["the script has changed"]
        );
    }

    #[test]
    fn custom_code_is_the_same_by_its_name() {
        let unnamed = ExecutorDescription::default();
        assert!(unnamed.differences(&unnamed).is_empty());
        assert_eq!(unnamed.differences(&ExecutorDescription::custom("replay")).len(), 1);
    }
}
