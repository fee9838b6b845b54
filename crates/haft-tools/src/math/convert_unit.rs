//! The tool `convert_unit`.

use serde::Serialize;

use super::rational::Number;
use super::units::{self, Quantity, Unit};
use haft_core::{ToolFailure, tool::Json};
use haft_macros::{ToolArgs, tool};

#[derive(ToolArgs)]
pub(crate) struct ConvertUnitArgs {
    /// How many of the first unit
    #[arg(example = 72.5)]
    value: f64,
    /// The unit of the value: a symbol or an English name
    #[arg(min_len = 1, max_len = 40, example = "km/h")]
    from: String,
    /// The unit that is wanted
    #[arg(min_len = 1, max_len = 40, example = "mph")]
    to: String,
}

#[derive(Serialize)]
pub(super) struct Converted {
    value: String,
    unit: &'static str,
    /// Whether all digits are right and there are no more of them.
    exact: bool,
}

/// Converts a value from one unit of measure into another of the same quantity.
///
/// Quantities: length, area, volume, mass, time, speed, temperature, data, energy, power, pressure, angle.
/// Units are symbols (`km`, `lb`, `°C`, `MiB`, `kWh`) or English names (`mile`, `pounds`). `MB` is a million
/// bytes and `MiB` 1048576; gallons, pints and cups are those of the USA. There are no currencies.
///
/// Returns JSON: `value`, `unit`, and `exact`, which is false if digits were rounded away.
#[tool(read_only, artifact = Json, trusted)]
pub(super) fn convert_unit(args: ConvertUnitArgs) -> Result<Json<Converted>, ToolFailure> {
    let from = find_unit(&args.from)?;
    let to = find_unit(&args.to)?;
    if from.quantity != to.quantity {
        return Err(ToolFailure::new(format!(
            "`{}` measures {} and `{}` measures {}; use two units of one quantity, such as {}",
            from.symbol(),
            from.quantity.name(),
            to.symbol(),
            to.quantity.name(),
            units::symbols(from.quantity).join(", "),
        )));
    }
    // The digits as they were written, not those of the nearest double.
    let value = exact_number(args.value);
    let base = value.and_then(|value| from.to_base(value));
    if from.quantity == Quantity::Temperature && base.is_some_and(|it| it.to_f64() < 0.0) {
        return Err(ToolFailure::new("there is no temperature below 0 K; check value and unit"));
    }
    let result = base.and_then(|base| to.value_from_base(base)).and_then(Number::finite);
    let result =
        result.ok_or_else(|| ToolFailure::new("the value is too large to be converted"))?;
    let exact = result.is_shown_exactly();
    Ok(Json(Converted { value: result.to_string(), unit: to.symbol(), exact }))
}

fn exact_number(value: f64) -> Option<Number> {
    let size = Number::parse(&format!("{:e}", value.abs())).or(Number::Float(value.abs()).finite());
    size.map(|size| if value < 0.0 { size.negated() } else { size })
}

fn find_unit(name: &str) -> Result<&'static Unit, ToolFailure> {
    units::find_unit(name).ok_or_else(|| {
        let name = crate::preview(name);
        let all = units::list_symbols();
        ToolFailure::new(format!("there is no unit `{name}`; there are {all}"))
    })
}
