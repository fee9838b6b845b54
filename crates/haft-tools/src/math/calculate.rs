//! The tool `calculate`.

use serde::Serialize;

use haft_core::{ToolFailure, tool::Json};
use haft_macros::{ToolArgs, tool};

use super::expression::compute;

#[derive(ToolArgs)]
pub(crate) struct CalculateArgs {
    /// The expression, with a point for decimals and without units or separators of thousands
    #[arg(min_len = 1, max_len = 1000)]
    #[arg(example = "(19.99 * 3 + 4.5) * 1.19", example = "sqrt(2)^3 / 7 % 2")]
    expression: String,
}

#[derive(Serialize)]
pub(super) struct Calculated {
    /// As text, so that no digit is lost.
    result: String,
    /// Whether all digits of the result are right and there are no more of them.
    exact: bool,
}

/// Computes an arithmetic expression. Use it instead of computing in your head.
///
/// Operators: + - * / % (modulo, with the sign of the divisor) ^ (power, from the right) ! and brackets.
/// Constants: pi, e, tau, phi. Functions: abs, round(x, places), floor, ceil, trunc, sqrt, cbrt, exp, ln,
/// log(x, base), log2, log10, sin, cos, tan, asin, acos, atan, atan2(y, x), sinh, cosh, tanh, deg, rad,
/// min, max, sum, mean, gcd. Angles are in radians.
///
/// Returns JSON: `result`, and `exact`, which is false if digits were rounded away. Decimals are exact: 0.1 +
/// 0.2 is 0.3.
#[tool(read_only, artifact = Json, trusted)]
pub(super) fn calculate(args: CalculateArgs) -> Result<Json<Calculated>, ToolFailure> {
    let value = compute(&args.expression)
        .map_err(|error| ToolFailure::new(format!("the expression cannot be computed: {error}")))?;
    Ok(Json(Calculated { result: value.to_string(), exact: value.is_shown_exactly() }))
}
