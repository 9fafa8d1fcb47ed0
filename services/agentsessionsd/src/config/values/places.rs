//! Where something is.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use harness::NamedAddress;
use serde::{Deserialize, Serialize};
use store::InvalidSubspace;
use url::Url;

use super::{InvalidValue, Raw, text_value};

text_value!(ListenAddr);
text_value!(OptionalAddr);
text_value!(OtlpEndpoint);
text_value!(StaticHarness);
text_value!(JournalPlace);
text_value!(Subspace);

/// What a place in a FoundationDB cluster begins with.
const CLUSTER: &str = "fdb:";

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

    /// Its port.
    #[must_use]
    pub fn port(&self) -> u16 {
        // Parsed once before, by `from_str`.
        self.0.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or_default()
    }

    /// Whether it is a literal address that only this machine can reach.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.literal().is_some_and(|host| host.is_loopback())
    }

    /// Whether the two cannot be listened on beside each other, as far as that shows without looking up names. Two that take a
    /// free port can.
    #[must_use]
    pub fn clashes_with(&self, other: &Self) -> bool {
        let covers = |one: Option<IpAddr>, other: Option<IpAddr>| match (one, other) {
            (Some(IpAddr::V4(_)), Some(IpAddr::V6(_))) | (None, _) => false,
            (Some(host), _) => host.is_unspecified(),
        };
        let (one, two) = (self.literal(), other.literal());
        let same = if one.is_some() { one == two } else { self.0 == other.0 };
        self.port() != 0 && self.port() == other.port() && (same || covers(one, two) || covers(two, one))
    }

    /// Its host, if that is no name.
    fn literal(&self) -> Option<IpAddr> {
        self.to_bind().parse::<SocketAddr>().ok().map(|addr| addr.ip().to_canonical())
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

/// An address to listen on, or a port of the loopback interface; empty: no listener.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "String")]
pub struct OptionalAddr(Option<ListenAddr>);

impl OptionalAddr {
    /// The address, if there is to be a listener.
    #[must_use]
    pub fn get(&self) -> Option<&ListenAddr> {
        self.0.as_ref()
    }
}

impl FromStr for OptionalAddr {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        if text.is_empty() {
            return Ok(Self(None));
        }
        let addr = text.parse::<u16>().map_or_else(|_| text.parse(), |port| Ok(ListenAddr::loopback(port)))?;
        Ok(Self(Some(addr)))
    }
}

/// Where a collector of traces is, `http://host:port`; empty: nowhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "String")]
pub struct OtlpEndpoint(Option<String>);

impl OtlpEndpoint {
    /// The URL, if there is one.
    #[must_use]
    pub fn get(&self) -> Option<&str> {
        self.0.as_deref()
    }
}

impl FromStr for OtlpEndpoint {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match Url::parse(text) {
            _ if text.is_empty() => Ok(Self(None)),
            Ok(url) if url.scheme() == "http" && url.has_host() => Ok(Self(Some(text.to_owned()))),
            _ => Err(InvalidValue(format!("{text:?} is not the URL of a collector such as http://127.0.0.1:4317"))),
        }
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

/// Where the journal is: the path of a file, or `fdb:` and the path of a FoundationDB cluster file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "String")]
pub enum JournalPlace {
    /// In this file.
    File(PathBuf),
    /// In the cluster of this cluster file.
    #[cfg(feature = "fdb")]
    Cluster(PathBuf),
}

impl JournalPlace {
    /// The file that the journal is in, if it is in one.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            #[cfg(feature = "fdb")]
            Self::Cluster(_) => None,
        }
    }

    #[cfg(feature = "fdb")]
    fn cluster(file: &str) -> Result<Self, InvalidValue> {
        match file {
            "" => Err(InvalidValue(format!("{CLUSTER:?} names no cluster file: write {CLUSTER}PATH"))),
            file => Ok(Self::Cluster(file.into())),
        }
    }

    #[cfg(not(feature = "fdb"))]
    fn cluster(_: &str) -> Result<Self, InvalidValue> {
        Err(InvalidValue("this build has no FoundationDB engine; build it with the feature fdb".to_owned()))
    }
}

impl FromStr for JournalPlace {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        match text.strip_prefix(CLUSTER) {
            Some(file) => Self::cluster(file),
            None if text.is_empty() => Err(InvalidValue(format!("must name a file, or {CLUSTER}CLUSTER_FILE"))),
            None => Ok(Self::File(text.into())),
        }
    }
}

impl From<PathBuf> for JournalPlace {
    fn from(file: PathBuf) -> Self {
        Self::File(file)
    }
}

/// The keys of a cluster that begin with a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Raw", into = "String")]
pub struct Subspace(store::Subspace);

impl Subspace {
    /// The subspace.
    #[must_use]
    pub fn get(&self) -> &store::Subspace {
        &self.0
    }
}

impl FromStr for Subspace {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        text.parse().map(Self).map_err(|error: InvalidSubspace| InvalidValue(error.to_string()))
    }
}

impl From<SocketAddr> for ListenAddr {
    fn from(addr: SocketAddr) -> Self {
        Self(addr.to_string())
    }
}

impl fmt::Display for ListenAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for OptionalAddr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_ref().map_or(Ok(()), |addr| addr.fmt(f))
    }
}

impl fmt::Display for OtlpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_deref().unwrap_or_default())
    }
}

impl fmt::Display for StaticHarness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.0.name, self.0.address)
    }
}

impl fmt::Display for JournalPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            #[cfg(feature = "fdb")]
            Self::Cluster(file) => write!(f, "{CLUSTER}{}", file.display()),
        }
    }
}

impl fmt::Display for Subspace {
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
    fn listen_addresses_take_hosts_ipv6_and_every_interface() {
        for good in ["127.0.0.1:8080", "localhost:0", "[::1]:9090", ":8080"] {
            assert_eq!(good.parse::<ListenAddr>().unwrap().to_string(), good);
        }
        assert_eq!(":8080".parse::<ListenAddr>().unwrap().to_bind(), "0.0.0.0:8080");
        assert_eq!("[::1]:9090".parse::<ListenAddr>().unwrap().port(), 9090);
        assert!(refused::<ListenAddr>("localhost").contains("no port"));
        assert!(refused::<ListenAddr>("localhost:http").contains("http"));
        assert!(refused::<ListenAddr>("localhost:65536").contains("65536"));
        assert!(refused::<ListenAddr>("::1:80").contains("[address]:port"));
    }

    #[test]
    fn metrics_are_served_on_loopback_unless_told_otherwise() {
        let bound = |text: &str| text.parse::<OptionalAddr>().unwrap().get().map(ListenAddr::to_bind);
        assert_eq!(bound(""), None);
        assert_eq!(bound("9464").as_deref(), Some("127.0.0.1:9464"));
        assert_eq!(bound(":9464").as_deref(), Some("0.0.0.0:9464"));
        assert_eq!(bound("[::1]:9464").as_deref(), Some("[::1]:9464"));
        assert!(refused::<OptionalAddr>("65536").contains("no port"));
        assert!(refused::<OptionalAddr>("host").contains("no port"));
    }

    #[test]
    fn traces_go_to_a_collector_without_tls() {
        for good in ["", "http://127.0.0.1:4317", "http://collector:4317/"] {
            assert_eq!(good.parse::<OtlpEndpoint>().unwrap().to_string(), good);
        }
        for bad in ["127.0.0.1:4317", "https://collector:4317", "http://", "collector"] {
            assert!(refused::<OtlpEndpoint>(bad).contains("4317"), "{bad}");
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

    #[test]
    fn a_journal_is_in_a_file_unless_it_says_that_it_is_in_a_cluster() {
        for file in ["agentsessions.db", "./fdb:x", "/srv/journal"] {
            let place: JournalPlace = file.parse().unwrap();
            assert_eq!((place.file(), place.to_string().as_str()), (Some(Path::new(file)), file));
        }
        assert!(refused::<JournalPlace>("").contains("must name a file"));
    }

    #[cfg(feature = "fdb")]
    #[test]
    fn a_journal_in_a_cluster_names_the_cluster_file() {
        let place: JournalPlace = "fdb:/etc/fdb.cluster".parse().unwrap();
        assert_eq!(place, JournalPlace::Cluster("/etc/fdb.cluster".into()));
        assert_eq!((place.file(), place.to_string().as_str()), (None, "fdb:/etc/fdb.cluster"));
        assert!(refused::<JournalPlace>("fdb:").contains("no cluster file"));
    }

    #[cfg(not(feature = "fdb"))]
    #[test]
    fn a_build_without_the_engine_says_so() {
        assert!(refused::<JournalPlace>("fdb:/etc/fdb.cluster").contains("no FoundationDB engine"));
    }

    #[test]
    fn a_subspace_has_a_plain_name() {
        assert_eq!("prod".parse::<Subspace>().unwrap().to_string(), "prod");
        assert!(refused::<Subspace>("a/b").contains("a/b"));
    }
}
