//! What can go wrong in the store. Takes driver errors; gives facts without any text of the driver, because such a
//! text may quote a row's values.

use std::io;

use sqlx::migrate::MigrateError;

/// Tables that an error can name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the variants are the tables' names")]
pub enum Table {
    AdminChanges,
    AdminSessions,
    AdminTokens,
    Admins,
    AuditMarks,
    AuditRecords,
    AuditSummaries,
    CardVersions,
    Cards,
    Changes,
    ConditionVersions,
    Conditions,
    Contexts,
    Grants,
    Issuers,
    Keys,
    Policies,
    PolicyVersions,
    Principals,
    Revision,
    SharedPlaces,
    SigningKeys,
    Tasks,
    Tenants,
    UsageCounts,
}

/// Why a store call failed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum StoreError {
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

/// What an administrator can do something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The database takes no writes.
    ReadOnly,
    /// There is no room left.
    Full,
}

impl StoreError {
    /// What is wrong with the database, where it says so.
    #[must_use]
    pub fn trouble(&self) -> Option<Trouble> {
        let Self::Unavailable { cause: Cause::Code(code) } = self else { return None };
        // SQLSTATEs have five characters; SQLite's extended codes have fewer, and their low byte says what kind.
        let sqlite = if code.len() < 5 { code.parse::<u32>().ok().map(|code| code & 0xff) } else { None };
        match (code.as_str(), sqlite) {
            (PG_READ_ONLY, _) | (_, Some(LITE_READ_ONLY)) => Some(Trouble::ReadOnly),
            (PG_DISK_FULL, _) | (_, Some(LITE_FULL)) => Some(Trouble::Full),
            _ => None,
        }
    }

    /// Names the table if the database said that a unique column is taken.
    pub(crate) fn or_taken(self, table: Table) -> Self {
        let unique = matches!(&self, Self::Unavailable { cause: Cause::Code(code) } if UNIQUE.contains(&code.as_str()));
        if unique { Self::NameTaken { table } } else { self }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the driver's enum is non-exhaustive")]
impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let cause = match &error {
            sqlx::Error::Database(database) if database.code().as_deref() == Some(ZERO_CHARACTER) => {
                return Self::InvalidText { column: "text" };
            }
            sqlx::Error::Database(database) => Cause::Code(database.code().unwrap_or_default().into_owned()),
            sqlx::Error::Io(io) => Cause::Io(io.kind()),
            sqlx::Error::PoolClosed => Cause::Closed,
            sqlx::Error::PoolTimedOut => Cause::TimedOut,
            sqlx::Error::Tls(_) => Cause::Tls,
            _ => Cause::Protocol,
        };
        Self::Unavailable { cause }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the driver's enum is non-exhaustive")]
impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
            MigrateError::VersionMissing(version)
            | MigrateError::VersionMismatch(version)
            | MigrateError::Dirty(version) => Self::ForeignMigration { version },
            _ => Self::ForeignMigration { version: 0 },
        }
    }
}

/// PostgreSQL's character_not_in_repertoire: a zero character in a text.
const ZERO_CHARACTER: &str = "22021";

/// PostgreSQL's read_only_sql_transaction and disk_full; SQLite's READONLY and FULL.
const PG_READ_ONLY: &str = "25006";
const PG_DISK_FULL: &str = "53100";
const LITE_READ_ONLY: u32 = 8;
const LITE_FULL: u32 = 13;

/// PostgreSQL's unique_violation; SQLite's CONSTRAINT_UNIQUE and CONSTRAINT_PRIMARYKEY.
const UNIQUE: &[&str] = &["23505", "2067", "1555"];
