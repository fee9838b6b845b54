//! Schema, validator, reference and decoder agree on every shape.

mod built;
mod random;
mod shapes;
