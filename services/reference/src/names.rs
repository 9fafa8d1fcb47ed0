//! Registered and reserved harness names.

use journal::import::ForeignName;
use journal::{Registration, Retirement};
use rusqlite::Row;
use thiserror::Error;

use crate::file::{HARNESSES, RESERVED, Table};
use crate::{CheckError, ReferenceFile};

impl ReferenceFile {
    /// All registrations, then all reserved names; none in files from before there were any.
    pub(crate) fn names(&self) -> Result<Vec<ForeignName>, CheckError> {
        if self.is_older() {
            return Ok(Vec::new());
        }
        let mut names = self.read_names(&HARNESSES, registration)?;
        names.extend(self.read_names(&RESERVED, |row| {
            Ok(ForeignName::Reserved { name: row.get(0)?, time: row.get::<_, Option<i64>>(1)?.unwrap_or(0) })
        })?);
        for name in &names {
            name.check_size().map_err(|error| fault(name.name(), error.to_string()))?;
        }
        Ok(names)
    }

    fn read_names(
        &self,
        table: &Table,
        decode: impl Fn(&Row<'_>) -> Result<ForeignName, NameFault>,
    ) -> Result<Vec<ForeignName>, CheckError> {
        let sql = format!("SELECT {} FROM {} ORDER BY name", table.columns.join(", "), table.name);
        let mut statement = self.connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        let mut names = Vec::new();
        while let Some(row) = rows.next()? {
            let name =
                decode(row).map_err(|error| fault(&row.get::<_, String>(0).unwrap_or_default(), error.to_string()))?;
            names.push(name);
        }
        Ok(names)
    }
}

/// Why a row is no name.
#[derive(Debug, Error)]
enum NameFault {
    #[error("no state is named {0:?}")]
    State(String),
    #[error(transparent)]
    Column(#[from] rusqlite::Error),
}

fn registration(row: &Row<'_>) -> Result<ForeignName, NameFault> {
    let text = |index| row.get::<_, Option<String>>(index).map(Option::unwrap_or_default);
    let time = |index| row.get::<_, Option<i64>>(index).map(Option::unwrap_or_default);
    let retired = match text(4)?.as_str() {
        "active" => None,
        "retired" => Some(Retirement { time: time(6)?, reason: text(5)? }),
        other => return Err(NameFault::State(other.to_owned())),
    };
    Ok(ForeignName::Registered(Registration {
        name: row.get(0)?,
        uid: text(1)?,
        spec: text(2)?,
        spec_digest: text(3)?,
        create_time: time(7)?,
        update_time: time(8)?,
        retired,
    }))
}

pub(crate) fn fault(name: &str, fault: impl Into<String>) -> CheckError {
    CheckError::Harness { name: name.to_owned(), fault: fault.into() }
}
