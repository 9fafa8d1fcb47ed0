//! Instants (schema.md 1.1 and 7).

use std::fmt;

use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

/// Most digits of a fraction of a second.
const FRACTION_DIGITS: usize = 9;

/// An instant, to the nanosecond. Shown as RFC 3339 in UTC with a fraction of 0, 3, 6 or 9 digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Datetime(OffsetDateTime);

impl Datetime {
    /// Reads a date-time of RFC 3339 with any offset. `None` for an impossible one, or one whose instant is of no year from
    /// 0 to 9999 in UTC.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let separator = text.as_bytes().get(10);
        let fraction = text.split_once('.').map_or("", |(_, fraction)| fraction);
        let digits = fraction.bytes().take_while(u8::is_ascii_digit).count();
        if !matches!(separator, Some(b'T' | b't')) || digits > FRACTION_DIGITS {
            return None;
        }
        let instant = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        let instant = instant.checked_to_offset(UtcOffset::UTC)?;
        (0..=9999).contains(&instant.year()).then_some(Self(instant))
    }
}

impl fmt::Display for Datetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (date, time) = (self.0.date(), self.0.time());
        let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
        let (hour, minute, second, nanos) = time.as_hms_nano();
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")?;
        match nanos {
            0 => {}
            _ if nanos % 1_000_000 == 0 => write!(f, ".{:03}", nanos / 1_000_000)?,
            _ if nanos % 1_000 == 0 => write!(f, ".{:06}", nanos / 1_000)?,
            _ => write!(f, ".{nanos:09}")?,
        }
        f.write_str("Z")
    }
}

impl fmt::Debug for Datetime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Datetime({self})")
    }
}
