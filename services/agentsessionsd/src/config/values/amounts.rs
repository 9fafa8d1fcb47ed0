//! How long, how large, how many.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{InvalidValue, Raw, text_value};

text_value!(Period);
text_value!(ByteSize);

/// A length of time, such as `10s`, `1m 30s` or `250ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "String")]
pub struct Period(Duration);

impl Period {
    /// So many seconds.
    #[must_use]
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }

    /// So long.
    #[must_use]
    pub const fn of(length: Duration) -> Self {
        Self(length)
    }

    /// The length.
    #[must_use]
    pub fn get(self) -> Duration {
        self.0
    }
}

impl FromStr for Period {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        humantime::parse_duration(text)
            .map(Self)
            .map_err(|error| InvalidValue(format!("{text:?} is not a length of time such as 10s or 250ms: {error}")))
    }
}

/// A number of bytes, such as `64MiB` or `500kB`; a bare number counts bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "String")]
pub struct ByteSize(bytesize::ByteSize);

impl ByteSize {
    /// So many mebibytes.
    #[must_use]
    pub const fn mebibytes(count: u64) -> Self {
        Self(bytesize::ByteSize::mib(count))
    }

    /// The number of bytes.
    #[must_use]
    pub fn get(self) -> usize {
        usize::try_from(self.0.as_u64()).unwrap_or(usize::MAX)
    }
}

impl FromStr for ByteSize {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text.parse::<bytesize::ByteSize>() {
            Ok(size) if size.as_u64() > 0 => Ok(Self(size)),
            Ok(_) => Err(InvalidValue("a size of 0 would refuse everything".to_owned())),
            Err(_) => Err(InvalidValue(format!("{text:?} is not a size such as 64MiB"))),
        }
    }
}

/// How many of something there may be; at least one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "u32")]
pub struct Count(NonZeroU32);

impl Count {
    /// So many, but at least one.
    #[must_use]
    pub fn at_least_one(count: u32) -> Self {
        Self(NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> usize {
        usize::try_from(self.0.get()).unwrap_or(usize::MAX)
    }
}

impl TryFrom<Raw> for Count {
    type Error = InvalidValue;

    fn try_from(raw: Raw) -> Result<Self, InvalidValue> {
        raw.into_text().parse()
    }
}

impl From<Count> for u32 {
    fn from(count: Count) -> Self {
        count.0.get()
    }
}

impl FromStr for Count {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        text.parse()
            .map(Self)
            .map_err(|_| InvalidValue(format!("{text:?} is not a whole number from 1 to {}", u32::MAX)))
    }
}

/// How often something is done again; 0: never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "u32")]
pub struct Retries(u32);

impl Retries {
    /// So often.
    #[must_use]
    pub const fn new(retries: u32) -> Self {
        Self(retries)
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<Raw> for Retries {
    type Error = InvalidValue;

    fn try_from(raw: Raw) -> Result<Self, InvalidValue> {
        raw.into_text().parse()
    }
}

impl From<Retries> for u32 {
    fn from(retries: Retries) -> Self {
        retries.0
    }
}

impl FromStr for Retries {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        text.parse()
            .map(Self)
            .map_err(|_| InvalidValue(format!("{text:?} is not a whole number from 0 to {}", u32::MAX)))
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

impl fmt::Display for ByteSize {
    /// Exact: in the largest unit that leaves no fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.as_u64();
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B")];
        let (shift, unit) = units.into_iter().find(|(shift, _)| bytes.is_multiple_of(1 << shift)).unwrap_or((0, "B"));
        write!(f, "{}{unit}", bytes >> shift)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Retries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<T: FromStr<Err = InvalidValue> + fmt::Debug>(text: &str) -> String {
        text.parse::<T>().unwrap_err().to_string()
    }

    #[test]
    fn periods_and_sizes_survive_being_printed_and_read() {
        for text in ["10s", "1m 30s", "250ms"] {
            let period: Period = text.parse().unwrap();
            assert_eq!(period.to_string().parse::<Period>().unwrap(), period);
        }
        for (text, bytes) in [("64MiB", 64 << 20), ("500kB", 500_000), ("4096", 4096)] {
            let size: ByteSize = text.parse().unwrap();
            assert_eq!(size.get(), bytes);
            assert_eq!(size.to_string().parse::<ByteSize>().unwrap(), size);
        }
        assert!(refused::<Period>("10").contains("10s"));
        assert!(refused::<ByteSize>("many").contains("64MiB"));
        assert!(refused::<ByteSize>("0").contains("refuse"));
    }

    #[test]
    fn retries_start_at_zero() {
        assert_eq!("0".parse::<Retries>().unwrap().get(), 0);
        for bad in ["-1", "1.5", "4294967296", ""] {
            assert!(refused::<Retries>(bad).contains("whole number"), "{bad:?}");
        }
    }

    #[test]
    fn counts_start_at_one() {
        assert_eq!("1".parse::<Count>().unwrap().get(), 1);
        for bad in ["0", "-1", "1.5", "4294967296", ""] {
            assert!(refused::<Count>(bad).contains("whole number"), "{bad:?}");
        }
    }
}
