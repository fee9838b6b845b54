//! Schema, validator, reference and decoder agree on every shape.

mod built;
mod foreign;
mod random;
mod recursion;
mod shapes;
