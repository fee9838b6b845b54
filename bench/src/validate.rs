//! Judging arguments that are parsed already, and building what judges them.
//!
//! The floor is `T::deserialize(&Value)`, which checks no limit. The `jsonschema` crate reads the
//! schema that Haft emits, so that it checks the same things; it does not mend, and makes no typed
//! value. Haft also looks for keys that occur twice, which the others cannot see any more.

use serde_json::Value;

use crate::{
    Sink,
    dispatch::{Call, Forecast, Order},
    measure::{self, Plan, UNIT, Variant},
    ours::{self, verdict},
    report::{Entry, FLOOR, OURS, Row},
};

/// Measures both payloads.
///
/// # Errors
///
/// When a variant gives a wrong answer or a row cannot be printed.
pub(crate) fn run(plan: Plan, print: Sink<'_>) -> Result<(), String> {
    print(&judging::<Forecast>("small", plan)?.aims(AIMS))?;
    print(&judging::<Order>("large", plan)?.aims(AIMS))?;
    print(&building::<Forecast>("small", plan)?)?;
    print(&building::<Order>("large", plan)?)
}

/// Of the whole validation, which finds repeated keys on its way.
const AIMS: [(&str, f64); 1] = [(OURS, 1.5)];

fn judging<T: Call>(size: &str, plan: Plan) -> Result<Row, String> {
    crate::note(&format!("validate/{size}: {} bytes of text", T::TEXT.len()));
    let value: Value = serde_json::from_str(T::TEXT).map_err(|error| error.to_string())?;
    let floor = value.clone();
    let floor = Variant::new(FLOOR, move || T::deserialize(&floor).is_ok(), verdict);
    let mut variants = vec![floor];
    variants.extend(ours::validate::<T>()?);
    variants.extend(reader::<T>(&value)?);
    let figures = measure::compare(&verdict(true), variants, plan)?;
    let entries = figures.iter().map(Entry::from).collect();
    Ok(Row { name: format!("validate/{size}"), unit: UNIT, entries })
}

/// The `jsonschema` crate on the schema that Haft emits.
fn reader<T: Call>(value: &Value) -> Result<[Variant; 2], String> {
    let schema = ours::schema::<T>()?.json_schema();
    let compile = || jsonschema::validator_for(&schema).map_err(|error| error.to_string());
    let ((quick, first), (full, second)) =
        ((compile()?, value.clone()), (compile()?, value.clone()));
    Ok([
        Variant::new("jsonschema 0.60 is_valid", move || quick.is_valid(&first), verdict),
        Variant::new("jsonschema 0.60 validate", move || full.validate(&second).is_ok(), verdict),
    ])
}

#[cfg(feature = "peers")]
trait Described: Call + schemars::JsonSchema {}
#[cfg(feature = "peers")]
impl<T: Call + schemars::JsonSchema> Described for T {}
#[cfg(not(feature = "peers"))]
trait Described: Call {}
#[cfg(not(feature = "peers"))]
impl<T: Call> Described for T {}

/// There is no floor: nothing less than building is building.
fn building<T: Described>(size: &str, plan: Plan) -> Result<Row, String> {
    let variants = [ours::build::<T>(), compiling::<T>()?].into_iter();
    #[cfg(feature = "peers")]
    let variants = variants.chain(deriving::<T>());
    let figures = measure::compare(&verdict(true), variants.collect(), plan)?;
    let entry = |it| Entry { ratio: None, ..Entry::from(it) };
    let entries = figures.iter().map(entry).collect();
    Ok(Row { name: format!("build-schema/{size}"), unit: UNIT, entries })
}

/// Compiling alone, of the schema that Haft emits.
fn compiling<T: Call>() -> Result<Variant, String> {
    let schema = ours::schema::<T>()?.json_schema();
    let work = move || jsonschema::validator_for(&schema).is_ok();
    Ok(Variant::new("jsonschema 0.60 compile", work, verdict))
}

/// The schemas of schemars state no limits and are smaller.
#[cfg(feature = "peers")]
fn deriving<T: Described>() -> [Variant; 2] {
    let compile = || jsonschema::validator_for(schemars::schema_for!(T).as_value()).is_ok();
    let make = || schemars::schema_for!(T).as_object().is_some();
    [
        Variant::new("schemars 1.2 schema_for!", make, verdict),
        Variant::new("schemars 1.2 + jsonschema 0.60 compile", compile, verdict),
    ]
}
