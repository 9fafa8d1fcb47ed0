//! The types of configuration values. Each is read from text, the same in the file, the environment and a flag.

use std::fmt;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use harness::NamedAddress;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tracing_subscriber::filter::Targets;

/// Why a text is not a configuration value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct InvalidValue(String);

/// What a file holds for a value: text, or a bare number.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected text or a whole number")]
enum Raw {
    Text(String),
    Number(u64),
}

impl Raw {
    fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(number) => number.to_string(),
        }
    }
}

/// Reads and writes a value through its text form.
macro_rules! text_value {
    ($name:ident) => {
        impl TryFrom<Raw> for $name {
            type Error = InvalidValue;

            fn try_from(raw: Raw) -> Result<Self, InvalidValue> {
                raw.into_text().parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }
    };
}

text_value!(ListenAddr);
text_value!(Period);
text_value!(ByteSize);
text_value!(StaticHarness);
text_value!(LogFormat);
text_value!(LogFilter);

/// An address to listen on: `host:port`, `[ipv6]:port`, or `:port` for every interface. Port 0 takes a free one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "String")]
pub struct ListenAddr(String);

impl ListenAddr {
    /// A port of the loopback interface.
    #[must_use]
    pub fn loopback(port: u16) -> Self {
        Self(format!("127.0.0.1:{port}"))
    }

    /// The address in the form the resolver takes.
    #[must_use]
    pub fn to_bind(&self) -> String {
        if self.0.starts_with(':') { format!("0.0.0.0{}", self.0) } else { self.0.clone() }
    }
}

impl FromStr for ListenAddr {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        let Some((host, port)) = text.rsplit_once(':') else {
            return Err(InvalidValue(format!("{text:?} has no port: write host:port")));
        };
        if port.parse::<u16>().is_err() {
            return Err(InvalidValue(format!("port {port:?} is not a number from 0 to 65535")));
        }
        if host.contains(':') && !(host.starts_with('[') && host.ends_with(']')) {
            return Err(InvalidValue(format!("{text:?}: write an IPv6 address as [address]:port")));
        }
        Ok(Self(text.to_owned()))
    }
}

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

/// A harness outside this process: `name=address`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "String")]
pub struct StaticHarness(NamedAddress);

impl StaticHarness {
    /// Its name and address.
    #[must_use]
    pub fn get(&self) -> &NamedAddress {
        &self.0
    }
}

impl FromStr for StaticHarness {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        text.parse().map(Self).map_err(|error| InvalidValue(format!("{text:?}: {error}")))
    }
}

/// How log lines look.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "String")]
pub enum LogFormat {
    /// Text if standard error is a terminal, JSON otherwise.
    Auto,
    /// For people.
    Text,
    /// One object a line.
    Json,
}

impl FromStr for LogFormat {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text {
            "auto" => Ok(Self::Auto),
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err(InvalidValue(format!("{text:?} is none of auto, text and json"))),
        }
    }
}

/// Which log lines are written: a least level, or a list of `target=level`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "String")]
pub struct LogFilter(String);

impl LogFilter {
    /// The filter.
    #[must_use]
    pub fn targets(&self) -> Targets {
        // Parsed once before, by `from_str`; the default is plain `info`.
        self.0.parse().unwrap_or_default()
    }
}

impl Default for LogFilter {
    fn default() -> Self {
        Self("info".to_owned())
    }
}

impl FromStr for LogFilter {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text.parse::<Targets>() {
            Ok(_) => Ok(Self(text.to_owned())),
            Err(error) => Err(InvalidValue(format!(
                "{text:?} is not a log filter such as info,agentsessions::call=warn: {error}"
            ))),
        }
    }
}

impl fmt::Display for ListenAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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

impl fmt::Display for StaticHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.0.name, self.0.address)
    }
}

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused<T: FromStr<Err = InvalidValue> + fmt::Debug>(text: &str) -> String {
        text.parse::<T>().unwrap_err().to_string()
    }

    #[test]
    fn listen_addresses_take_hosts_ipv6_and_every_interface() {
        for good in ["127.0.0.1:8080", "localhost:0", "[::1]:9090", ":8080"] {
            assert_eq!(good.parse::<ListenAddr>().unwrap().to_string(), good);
        }
        assert_eq!(":8080".parse::<ListenAddr>().unwrap().to_bind(), "0.0.0.0:8080");
        assert!(refused::<ListenAddr>("localhost").contains("no port"));
        assert!(refused::<ListenAddr>("localhost:http").contains("http"));
        assert!(refused::<ListenAddr>("localhost:65536").contains("65536"));
        assert!(refused::<ListenAddr>("::1:80").contains("[address]:port"));
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
    fn counts_start_at_one() {
        assert_eq!("1".parse::<Count>().unwrap().get(), 1);
        for bad in ["0", "-1", "1.5", "4294967296", ""] {
            assert!(refused::<Count>(bad).contains("whole number"), "{bad:?}");
        }
    }

    #[test]
    fn a_harness_needs_name_and_address() {
        let text = "support=unix:///run/a=b.sock";
        let harness: StaticHarness = text.parse().unwrap();
        assert_eq!((harness.get().name.as_str(), harness.to_string().as_str()), ("support", text));
        for bad in ["", "support", "=x:1", "support="] {
            assert!(refused::<StaticHarness>(bad).starts_with(&format!("{bad:?}: ")), "{bad:?}");
        }
    }
}
