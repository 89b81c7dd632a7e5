//! What can go wrong in the store. Takes driver errors; gives facts without any text of the driver, because such a
//! text may quote a row's values.

use std::io;

/// Tables that an error can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are the tables' names")]
pub enum Table {
    AuditRecords,
    AuditSummaries,
    CardVersions,
    Cards,
    Changes,
    Contexts,
    Grants,
    Keys,
    Policies,
    PolicyVersions,
    Principals,
    Revision,
    SigningKeys,
    Tasks,
    Tenants,
}

/// Why a store call failed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Error {
    /// The row changed since the caller read it; `current` is its revision now.
    #[error("the row is at revision {current} now")]
    Conflict {
        /// The row's present revision.
        current: i64,
    },
    /// A stored value can't be read. Somebody wrote past this crate, or the file is damaged.
    #[error("row {id} of {table:?} can't be read")]
    Corrupt {
        /// Where the row is.
        table: Table,
        /// Its id, empty when even that can't be read.
        id: String,
    },
    /// The database's migrations are not the ones of this program (newer, or changed afterwards).
    #[error("the database's migrations are not those of this program (at {version})")]
    ForeignMigration {
        /// The first migration that differs; 0 when none can be named.
        version: i64,
    },
    /// An id or name that no database can hold as a key: empty, with a zero character, or too long.
    #[error("{column} can't be stored")]
    InvalidText {
        /// The column it was meant for.
        column: &'static str,
    },
    /// Another living row has that name, id, or hash.
    #[error("the name is taken in {table:?}")]
    NameTaken {
        /// Where.
        table: Table,
    },
    /// There is no such living row.
    #[error("no such row in {table:?}")]
    NotFound {
        /// Where.
        table: Table,
    },
    /// The database can't answer now.
    #[error("the database is unavailable: {cause:?}")]
    Unavailable {
        /// What kind of failure, without the driver's words.
        cause: Cause,
    },
    /// The address is neither `sqlite:` nor `postgres://`, or can't be read.
    #[error("the store's address must be sqlite://… or postgres://…")]
    UnknownAddress,
}

/// What made the database unavailable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The pool has been closed; the program is stopping.
    Closed,
    /// The database refused with this SQLSTATE or SQLite code.
    Code(String),
    /// The connection failed.
    Io(io::ErrorKind),
    /// The driver and the database do not understand each other.
    Protocol,
    /// No connection became free in time.
    TimedOut,
    /// TLS failed.
    Tls,
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        let cause = match &error {
            sqlx::Error::Io(io) => Cause::Io(io.kind()),
            sqlx::Error::Tls(_) => Cause::Tls,
            sqlx::Error::PoolTimedOut => Cause::TimedOut,
            sqlx::Error::PoolClosed => Cause::Closed,
            sqlx::Error::Database(database) => Cause::Code(database.code().unwrap_or_default().into_owned()),
            _ => Cause::Protocol,
        };
        Self::Unavailable { cause }
    }
}
