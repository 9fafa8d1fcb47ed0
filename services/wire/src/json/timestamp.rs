//! `google.protobuf.Timestamp`: RFC 3339 in UTC.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error as ThisError;

use super::JsonType;
use crate::canonical::{NotCanonical, Writer};
use crate::protobuf;
use crate::strict::Shape;

/// `google.protobuf.Timestamp` as a member.
pub(crate) enum Timestamp {}

impl JsonType for Timestamp {
    type Rust = protobuf::Timestamp;

    const SHAPE: Shape = Shape::Opaque;

    fn write(value: &protobuf::Timestamp, writer: &mut Writer<'_>) -> Result<(), NotCanonical> {
        writer.string(&value.to_rfc3339()?);
        Ok(())
    }

    fn serialize<S: Serializer>(value: &protobuf::Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<protobuf::Timestamp, D::Error> {
        protobuf::Timestamp::deserialize(deserializer)
    }
}

impl Serialize for protobuf::Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_rfc3339().map_err(serde::ser::Error::custom)?)
    }
}

impl<'de> Deserialize<'de> for protobuf::Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TimestampVisitor)
    }
}

struct TimestampVisitor;

impl Visitor<'_> for TimestampVisitor {
    type Value = protobuf::Timestamp;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an RFC 3339 timestamp")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<protobuf::Timestamp, E> {
        text.parse().map_err(|InvalidTimestamp| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// 0001-01-01T00:00:00Z.
const FIRST_SECOND: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z.
const LAST_SECOND: i64 = 253_402_300_799;
const NANOS_PER_SECOND: i64 = 1_000_000_000;
const SECONDS_PER_DAY: i64 = 86_400;
/// From 0000-03-01, where a count of years that begin in March begins, to 1970-01-01.
const DAYS_BEFORE_EPOCH: i64 = 719_468;
const DAYS_PER_ERA: i64 = 146_097;

impl protobuf::Timestamp {
    /// The time so many nanoseconds after the Unix epoch.
    #[must_use]
    pub fn from_unix_nanos(nanos: i64) -> Self {
        Self {
            seconds: nanos.div_euclid(NANOS_PER_SECOND),
            nanos: i32::try_from(nanos.rem_euclid(NANOS_PER_SECOND)).unwrap_or_default(),
        }
    }

    /// RFC 3339 in UTC, with 0, 3, 6 or 9 fraction digits: the fewest that are exact.
    ///
    /// # Errors
    /// [`NotCanonical::Timestamp`].
    pub fn to_rfc3339(&self) -> Result<String, NotCanonical> {
        if !is_valid(self) {
            return Err(NotCanonical::Timestamp);
        }
        let (year, month, day) = civil_from_days(self.seconds.div_euclid(SECONDS_PER_DAY));
        let second = self.seconds.rem_euclid(SECONDS_PER_DAY);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let fraction = match self.nanos {
            0 => String::new(),
            nanos if nanos % 1_000_000 == 0 => format!(".{:03}", nanos / 1_000_000),
            nanos if nanos % 1_000 == 0 => format!(".{:06}", nanos / 1_000),
            nanos => format!(".{nanos:09}"),
        };
        Ok(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{fraction}Z"))
    }
}

/// A text is not an RFC 3339 timestamp of the years 1 to 9999 with at most nine fraction digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
#[error("not an RFC 3339 timestamp of the years 1 to 9999 with at most 9 fraction digits")]
pub struct InvalidTimestamp;

impl FromStr for protobuf::Timestamp {
    type Err = InvalidTimestamp;

    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        parse(text).filter(is_valid).ok_or(InvalidTimestamp)
    }
}

fn is_valid(timestamp: &protobuf::Timestamp) -> bool {
    (FIRST_SECOND..=LAST_SECOND).contains(&timestamp.seconds) && (0..1_000_000_000).contains(&timestamp.nanos)
}

fn parse(text: &str) -> Option<protobuf::Timestamp> {
    let (date_time, rest) = text.split_at_checked("YYYY-MM-DDTHH:MM:SS".len())?;
    let (fraction, zone) = rest.split_at(rest.find(['Z', '+', '-'])?);

    let (date, time) = date_time.split_once('T')?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_from_civil(year, month, day)?;
    let local = days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
    Some(protobuf::Timestamp { seconds: local - offset(zone)?, nanos: nanos(fraction)? })
}

fn nanos(fraction: &str) -> Option<i32> {
    if fraction.is_empty() {
        return Some(0);
    }
    let digits = fraction.strip_prefix('.').filter(|digits| (1..=9).contains(&digits.len()))?;
    i32::try_from(number(&format!("{digits:0<9}"))?).ok()
}

/// Seconds east of UTC.
fn offset(zone: &str) -> Option<i64> {
    if zone == "Z" {
        return Some(0);
    }
    let (sign, hours_minutes) = zone.split_at_checked(1)?;
    let [hours, minutes] = numbers(hours_minutes, ':', [2, 2])?;
    let seconds = hours * 3600 + minutes * 60;
    (hours < 24 && minutes < 60).then_some(if sign == "-" { -seconds } else { seconds })
}

/// Numbers of fixed widths between separators.
fn numbers<const N: usize>(text: &str, separator: char, widths: [usize; N]) -> Option<[i64; N]> {
    let mut parts = text.split(separator);
    let mut out = [0; N];
    for (slot, width) in out.iter_mut().zip(widths) {
        *slot = number(parts.next().filter(|part| part.len() == width)?)?;
    }
    parts.next().is_none().then_some(out)
}

fn number(digits: &str) -> Option<i64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Days since 1970-01-01 of a date in the proleptic Gregorian calendar. Years are counted from March, so that the day
/// that leap years add is the last of a year, and in eras of 400 years, after which the calendar repeats.
fn days_from_civil(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || day < 1 {
        return None;
    }
    let year = if month > 2 { year } else { year - 1 };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = era * DAYS_PER_ERA + day_of_era - DAYS_BEFORE_EPOCH;
    // A day that the month does not have comes out as one of the next month.
    (civil_from_days(days).2 == day).then_some(days)
}

/// Year, month and day of a day since 1970-01-01; the reverse of [`days_from_civil`].
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_BEFORE_EPOCH;
    let (era, day_of_era) = (days.div_euclid(DAYS_PER_ERA), days.rem_euclid(DAYS_PER_ERA));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}
