//! What compiles and still makes no sense is refused when the tool is built.

use haft::ToolArgs;

use super::faults;

#[derive(ToolArgs)]
struct Inner {
    name: String,
}

#[derive(ToolArgs)]
struct Clash {
    name: String,
    #[arg(flatten)]
    inner: Inner,
}

#[derive(ToolArgs)]
#[arg(tag = "name")]
enum Tagged {
    A(Inner),
}

#[derive(ToolArgs)]
struct Union {
    tagged: Tagged,
}

#[test]
fn names_that_meet_in_one_object() {
    assert_eq!(faults::<Clash>(), ["`input`: the field `name` is declared twice"]);
    assert_eq!(faults::<Union>(), ["`input.tagged.a`: the field `name` is declared twice"]);
}

#[derive(ToolArgs)]
struct Defaults {
    #[arg(default = "kelvin")]
    units: Units,
    #[arg(default = 20, max = 10)]
    days: u8,
    #[arg(default = f64::NAN)]
    ratio: f64,
    #[arg(default = vec![1.0, f64::INFINITY])]
    ratios: Vec<f64>,
    #[arg(example = "")]
    #[arg(min_len = 1)]
    name: String,
    #[arg(min = 5, max = 4)]
    none: u8,
    #[arg(pattern = "(")]
    pattern: String,
}

#[derive(ToolArgs)]
enum Units {
    Celsius,
}

#[test]
fn values_that_the_schema_refuses() {
    let found = faults::<Defaults>();
    let begins = [
        r#"`input.units`: the default "kelvin" is not accepted"#,
        "`input.days`: the default 20 is not accepted",
        "`input.ratio`: the default null is not accepted",
        "`input.ratios`: the default null is not accepted",
        r#"`input.name`: the example "" is not accepted"#,
        "`input.none`: the lower bound 5 is above the upper bound 4",
        "`input.pattern`: the pattern `(` cannot be used",
    ];
    assert_eq!(found.len(), begins.len(), "{found:#?}");
    for (fault, begin) in found.iter().zip(begins) {
        assert!(fault.starts_with(begin), "{fault}");
    }
}

#[derive(ToolArgs)]
struct Forever {
    endless: Endless,
}

#[derive(ToolArgs)]
struct Endless(Box<Self>);

#[test]
fn a_type_without_an_end() {
    assert_eq!(
        faults::<Forever>(),
        ["`input.$defs.Endless`: a definition must not be a bare reference"]
    );
}
