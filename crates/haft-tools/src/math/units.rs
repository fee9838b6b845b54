//! Units of measure and their factors.

use super::rational::Number;

/// A physical quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    Length,
    Area,
    Volume,
    Mass,
    Time,
    Speed,
    Temperature,
    Data,
    Energy,
    Power,
    Pressure,
    Angle,
}

impl Quantity {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Length => "length",
            Self::Area => "area",
            Self::Volume => "volume",
            Self::Mass => "mass",
            Self::Time => "time",
            Self::Speed => "speed",
            Self::Temperature => "temperature",
            Self::Data => "data",
            Self::Energy => "energy",
            Self::Power => "power",
            Self::Pressure => "pressure",
            Self::Angle => "angle",
        }
    }
}

pub(super) struct Unit {
    pub(super) quantity: Quantity,
    /// The first one is the symbol that is shown.
    names: &'static [&'static str],
    /// The factor to the base unit: a decimal number, or a fraction with `/`.
    factor: &'static str,
    /// The offset that is added before the multiplication.
    offset: &'static str,
}

impl Unit {
    pub(super) fn symbol(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }

    /// Converts a value to the base unit.
    pub(super) fn to_base(&self, value: Number) -> Option<Number> {
        Some(value.plus(parse_factor(self.offset)?).times(parse_factor(self.factor)?))
    }

    /// Converts a value from the base unit.
    pub(super) fn value_from_base(&self, value: Number) -> Option<Number> {
        Some(value.divided_by(parse_factor(self.factor)?)?.minus(parse_factor(self.offset)?))
    }
}

/// Finds the unit with this name. An exact match has precedence, because `m` is not `M`.
pub(super) fn find_unit(name: &str) -> Option<&'static Unit> {
    let name = name.trim();
    let has = |unit: &&Unit, same: fn(&str, &str) -> bool| {
        let plural = name.strip_suffix('s').filter(|it| it.chars().count() > 2);
        unit.names.iter().any(|it| same(it, name) || plural.is_some_and(|name| same(it, name)))
    };
    let all = || UNITS.iter();
    all()
        .find(|unit| has(unit, |a, b| a == b))
        .or_else(|| all().find(|unit| has(unit, str::eq_ignore_ascii_case)))
}

/// The symbols of the units of a quantity.
pub(super) fn symbols(quantity: Quantity) -> Vec<&'static str> {
    UNITS.iter().filter(|it| it.quantity == quantity).map(Unit::symbol).collect()
}

/// All symbols, grouped by quantity.
pub(super) fn list_symbols() -> String {
    let mut out = String::new();
    let mut last = None;
    for unit in UNITS {
        let quantity = unit.quantity;
        if last == Some(quantity) {
            out.push_str(", ");
        } else {
            out.push_str(if last.is_some() { "; " } else { "" });
            out.push_str(quantity.name());
            out.push_str(": ");
        }
        out.push_str(unit.symbol());
        last = Some(quantity);
    }
    out
}

fn parse_factor(text: &str) -> Option<Number> {
    match text.split_once('/') {
        Some((over, under)) => Number::parse(over)?.divided_by(Number::parse(under)?),
        None => match text.strip_prefix('-') {
            Some(positive) => Number::parse(positive).map(Number::negated),
            None => Number::parse(text),
        },
    }
}

const fn unit(quantity: Quantity, factor: &'static str, names: &'static [&'static str]) -> Unit {
    Unit { quantity, names, factor, offset: "0" }
}

use Quantity::{
    Angle, Area, Data, Energy, Length, Mass, Power, Pressure, Speed, Temperature, Time, Volume,
};

/// The first unit of each quantity is its base unit.
pub(super) static UNITS: &[Unit] = &[
    unit(Length, "1", &["m", "meter", "metre"]),
    unit(Length, "1e-9", &["nm", "nanometer", "nanometre"]),
    unit(Length, "1e-6", &["um", "µm", "micrometer", "micrometre", "micron"]),
    unit(Length, "0.001", &["mm", "millimeter", "millimetre"]),
    unit(Length, "0.01", &["cm", "centimeter", "centimetre"]),
    unit(Length, "1000", &["km", "kilometer", "kilometre"]),
    unit(Length, "0.0254", &["in", "inch", "inches"]),
    unit(Length, "0.3048", &["ft", "foot", "feet"]),
    unit(Length, "0.9144", &["yd", "yard"]),
    unit(Length, "1609.344", &["mi", "mile"]),
    unit(Length, "1852", &["nmi", "nautical mile"]),
    unit(Area, "1", &["m2", "m²", "square meter", "square metre"]),
    unit(Area, "0.0001", &["cm2", "cm²", "square centimeter", "square centimetre"]),
    unit(Area, "1000000", &["km2", "km²", "square kilometer", "square kilometre"]),
    unit(Area, "10000", &["ha", "hectare"]),
    unit(Area, "0.00064516", &["in2", "sq in", "square inch"]),
    unit(Area, "0.09290304", &["ft2", "sq ft", "square foot", "square feet"]),
    unit(Area, "4046.8564224", &["acre"]),
    unit(Area, "2589988.110336", &["mi2", "sq mi", "square mile"]),
    unit(Volume, "1", &["l", "L", "liter", "litre"]),
    unit(Volume, "0.001", &["ml", "mL", "milliliter", "millilitre", "cm3", "cm³"]),
    unit(Volume, "0.01", &["cl", "cL", "centiliter", "centilitre"]),
    unit(Volume, "1000", &["m3", "m³", "cubic meter", "cubic metre"]),
    unit(Volume, "0.00492892159375", &["tsp", "teaspoon"]),
    unit(Volume, "0.01478676478125", &["tbsp", "tablespoon"]),
    unit(Volume, "0.0295735295625", &["floz", "fl oz", "fluid ounce"]),
    unit(Volume, "0.2365882365", &["cup"]),
    unit(Volume, "0.473176473", &["pt", "pint"]),
    unit(Volume, "0.946352946", &["qt", "quart"]),
    unit(Volume, "3.785411784", &["gal", "gallon", "us gallon"]),
    unit(Volume, "4.54609", &["gal_uk", "imperial gallon"]),
    unit(Mass, "1", &["kg", "kilogram"]),
    unit(Mass, "1e-6", &["mg", "milligram"]),
    unit(Mass, "0.001", &["g", "gram"]),
    unit(Mass, "1000", &["t", "tonne", "metric ton"]),
    unit(Mass, "0.028349523125", &["oz", "ounce"]),
    unit(Mass, "0.45359237", &["lb", "lbs", "pound"]),
    unit(Mass, "6.35029318", &["st", "stone"]),
    unit(Mass, "907.18474", &["ton_us", "short ton"]),
    unit(Time, "1", &["s", "sec", "second"]),
    unit(Time, "1e-9", &["ns", "nanosecond"]),
    unit(Time, "1e-6", &["us", "µs", "microsecond"]),
    unit(Time, "0.001", &["ms", "millisecond"]),
    unit(Time, "60", &["min", "minute"]),
    unit(Time, "3600", &["h", "hr", "hour"]),
    unit(Time, "86400", &["d", "day"]),
    unit(Time, "604800", &["week", "wk"]),
    unit(Speed, "1", &["m/s", "meter per second"]),
    unit(Speed, "5/18", &["km/h", "kmh", "kph", "kilometer per hour"]),
    unit(Speed, "0.44704", &["mph", "mi/h", "mile per hour", "miles per hour"]),
    unit(Speed, "463/900", &["kn", "kt", "knot"]),
    unit(Speed, "0.3048", &["ft/s", "foot per second"]),
    unit(Temperature, "1", &["K", "kelvin"]),
    Unit { quantity: Temperature, names: &["C", "°C", "celsius"], factor: "1", offset: "273.15" },
    Unit {
        quantity: Temperature,
        names: &["F", "°F", "fahrenheit"],
        factor: "5/9",
        offset: "459.67",
    },
    unit(Data, "1", &["B", "byte"]),
    unit(Data, "0.125", &["bit"]),
    unit(Data, "1000", &["kB", "kilobyte"]),
    unit(Data, "1000000", &["MB", "megabyte"]),
    unit(Data, "1000000000", &["GB", "gigabyte"]),
    unit(Data, "1000000000000", &["TB", "terabyte"]),
    unit(Data, "1024", &["KiB", "kibibyte"]),
    unit(Data, "1048576", &["MiB", "mebibyte"]),
    unit(Data, "1073741824", &["GiB", "gibibyte"]),
    unit(Data, "1099511627776", &["TiB", "tebibyte"]),
    unit(Energy, "1", &["J", "joule"]),
    unit(Energy, "1000", &["kJ", "kilojoule"]),
    unit(Energy, "4.184", &["cal", "calorie"]),
    unit(Energy, "4184", &["kcal", "kilocalorie"]),
    unit(Energy, "3600", &["Wh", "watt hour"]),
    unit(Energy, "3600000", &["kWh", "kilowatt hour"]),
    unit(Energy, "1055.05585262", &["BTU", "btu"]),
    unit(Power, "1", &["W", "watt"]),
    unit(Power, "1000", &["kW", "kilowatt"]),
    unit(Power, "1000000", &["MW", "megawatt"]),
    unit(Power, "735.49875", &["PS", "metric horsepower"]),
    unit(Power, "745.69987158227022", &["hp", "horsepower"]),
    unit(Pressure, "1", &["Pa", "pascal"]),
    unit(Pressure, "100", &["hPa", "hectopascal", "mbar", "millibar"]),
    unit(Pressure, "1000", &["kPa", "kilopascal"]),
    unit(Pressure, "100000", &["bar"]),
    unit(Pressure, "101325", &["atm", "atmosphere"]),
    unit(Pressure, "6894.757293168", &["psi"]),
    unit(Angle, "1", &["deg", "°", "degree"]),
    unit(Angle, "57.29577951308232", &["rad", "radian"]),
    unit(Angle, "0.9", &["grad", "gon"]),
    unit(Angle, "360", &["turn", "revolution"]),
];
