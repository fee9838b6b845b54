//! Parts of Haft for a scheduler that tries interleavings: the event hub, the bells that tell a turn that its gate was
//! settled, and the renewal of leases. They are the lines of `haft` with the locks and counters of `shuttle`, which
//! decides at each of them which thread goes on.

#[cfg(test)]
mod hub;
#[cfg(test)]
mod turn;
