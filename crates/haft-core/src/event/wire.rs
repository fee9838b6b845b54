//! Durations as numbers.

/// Fractional milliseconds.
pub(super) mod milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    pub(in crate::event) fn serialize<S: Serializer>(
        value: &Duration,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        to.serialize_f64(value.as_secs_f64() * 1000.0)
    }

    pub(in crate::event) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Duration, D::Error> {
        let milliseconds = f64::deserialize(from)?;
        Duration::try_from_secs_f64(milliseconds / 1000.0).map_err(serde::de::Error::custom)
    }
}

/// Whole milliseconds, or nothing.
pub(super) mod whole_milliseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::event) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let milliseconds = value.map(|it| it.as_millis().min(u64::MAX.into()) as u64);
        milliseconds.serialize(to)
    }

    pub(in crate::event) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_millis))
    }
}

/// Whole nanoseconds, or nothing.
pub(super) mod nanoseconds {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(in crate::event) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        let nanoseconds = value.map(|it| it.as_nanos().min(u64::MAX.into()) as u64);
        nanoseconds.serialize(to)
    }

    pub(in crate::event) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<u64>::deserialize(from)?.map(Duration::from_nanos))
    }
}
