//! How a statement is run: the macros that repeat only the database's arm, the connections they run on, and the
//! reading of rows. Takes `&'static str` statements and values; gives rows or the number of rows touched.

use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnection, PgRow, Postgres};
use sqlx::sqlite::{Sqlite, SqliteConnection, SqliteRow};
use sqlx::{Row, Transaction};

use crate::Result;
use crate::error::{StoreError as Error, Table};
use crate::world::Unreadable;

/// Runs a query on a [`Session`] or [`Tx`] and gives all rows.
macro_rules! q {
    ($on:expr, $row:ty, $sql:expr $(, $arg:expr)* $(,)?) => {
        match $on.lane() {
            $crate::sql::Lane::Pg(c) => sqlx::query($sql)$(.bind($arg))*.fetch_all(c).await
                .map_err($crate::Error::from)
                .and_then(|rows| rows.iter().map(<$row as $crate::sql::Stored>::pg).collect::<$crate::Result<Vec<$row>>>()),
            $crate::sql::Lane::Lite(c) => sqlx::query($sql)$(.bind($arg))*.fetch_all(c).await
                .map_err($crate::Error::from)
                .and_then(|rows| rows.iter().map(<$row as $crate::sql::Stored>::lite).collect::<$crate::Result<Vec<$row>>>()),
        }
    };
}

/// Like [`q!`], but leaves out rows that can't be read and adds them to `$unreadable`.
macro_rules! readable {
    ($unreadable:expr, $on:expr, $row:ty, $sql:expr $(, $arg:expr)* $(,)?) => {
        match $on.lane() {
            $crate::sql::Lane::Pg(c) => sqlx::query($sql)$(.bind($arg))*.fetch_all(c).await
                .map_err($crate::Error::from)
                .and_then(|rows| $crate::sql::keep(&rows, <$row as $crate::sql::Stored>::pg, &mut $unreadable)),
            $crate::sql::Lane::Lite(c) => sqlx::query($sql)$(.bind($arg))*.fetch_all(c).await
                .map_err($crate::Error::from)
                .and_then(|rows| $crate::sql::keep(&rows, <$row as $crate::sql::Stored>::lite, &mut $unreadable)),
        }
    };
}

/// Like [`q!`], but gives the first row.
macro_rules! one {
    ($($arg:tt)*) => {
        q!($($arg)*).map(|rows| rows.into_iter().next())
    };
}

/// Runs a statement on a [`Tx`] or [`Session`] and gives the number of rows it touched.
macro_rules! x {
    ($on:expr, $sql:expr $(, $arg:expr)* $(,)?) => {
        match $on.lane() {
            $crate::sql::Lane::Pg(c) => sqlx::query($sql)$(.bind($arg))*.execute(c).await
                .map(|done| done.rows_affected()).map_err($crate::Error::from),
            $crate::sql::Lane::Lite(c) => sqlx::query($sql)$(.bind($arg))*.execute(c).await
                .map(|done| done.rows_affected()).map_err($crate::Error::from),
        }
    };
}

/// Declares a row: the struct, and how it is read from either database. The first column selected must be its id.
macro_rules! row {
    ($(#[$meta:meta])* $vis:vis $name:ident in $table:ident { $($(#[$fmeta:meta])* $field:ident: $ty:ty,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $vis struct $name {
            $($(#[$fmeta])* $vis $field: $ty,)+
        }

        impl $crate::sql::Stored for $name {
            fn pg(row: &sqlx::postgres::PgRow) -> $crate::Result<Self> {
                use sqlx::Row as _;
                Ok(Self { $($field: row.try_get(stringify!($field)).map_err(|_| $crate::sql::corrupt_pg($crate::Table::$table, row))?,)+ })
            }

            fn lite(row: &sqlx::sqlite::SqliteRow) -> $crate::Result<Self> {
                use sqlx::Row as _;
                Ok(Self { $($field: row.try_get(stringify!($field)).map_err(|_| $crate::sql::corrupt_lite($crate::Table::$table, row))?,)+ })
            }
        }
    };
}

/// Declares a file's statements: constants, and for the tests a list of them. `both` run on either database.
macro_rules! statements {
    (both { $($both:ident = $both_sql:expr;)* }
     $(postgres { $($pg:ident = $pg_sql:expr;)* })?
     $(sqlite { $($lite:ident = $lite_sql:expr;)* })?) => {
        $(const $both: &str = $both_sql;)*
        $($(const $pg: &str = $pg_sql;)*)?
        $($(const $lite: &str = $lite_sql;)*)?

        #[cfg(test)]
        pub(crate) const STATEMENTS: $crate::sql::Statements = $crate::sql::Statements {
            both: &[$((stringify!($both), $both)),*],
            postgres: &[$($((stringify!($pg), $pg)),*)?],
            sqlite: &[$($((stringify!($lite), $lite)),*)?],
        };
    };
}

/// A file's statements by name.
#[cfg(test)]
pub(crate) struct Statements {
    pub(crate) both: &'static [(&'static str, &'static str)],
    pub(crate) postgres: &'static [(&'static str, &'static str)],
    pub(crate) sqlite: &'static [(&'static str, &'static str)],
}

/// Something that can be read from one row.
pub(crate) trait Stored: Sized {
    /// From PostgreSQL.
    fn pg(row: &PgRow) -> Result<Self>;
    /// From SQLite.
    fn lite(row: &SqliteRow) -> Result<Self>;
}

/// One column, the first.
macro_rules! scalar {
    ($($ty:ty),+) => {$(
        impl Stored for $ty {
            fn pg(row: &PgRow) -> Result<Self> {
                row.try_get(0).map_err(|_| corrupt_pg(Table::Revision, row))
            }

            fn lite(row: &SqliteRow) -> Result<Self> {
                row.try_get(0).map_err(|_| corrupt_lite(Table::Revision, row))
            }
        }
    )+};
}

scalar!(i64, String);

pub(crate) fn corrupt_pg(table: Table, row: &PgRow) -> Error {
    Error::Corrupt { table, id: row.try_get(0).unwrap_or_default() }
}

pub(crate) fn corrupt_lite(table: Table, row: &SqliteRow) -> Error {
    Error::Corrupt { table, id: row.try_get(0).unwrap_or_default() }
}

/// The rows that can be read. The others are named by their `name`, where they have one, and by their id.
pub(crate) fn keep<'r, R: Row, T>(
    rows: &'r [R],
    read: impl Fn(&'r R) -> Result<T>,
    unreadable: &mut Vec<Unreadable>,
) -> Result<Vec<T>>
where
    &'static str: sqlx::ColumnIndex<R>,
    String: sqlx::Decode<'r, R::Database> + sqlx::Type<R::Database>,
{
    let mut kept = Vec::with_capacity(rows.len());
    for row in rows {
        match read(row) {
            Ok(row) => kept.push(row),
            Err(Error::Corrupt { table, id }) => {
                let name = row.try_get("name").unwrap_or_default();
                unreadable.push(Unreadable { table, id, name });
            }
            Err(error) => return Err(error),
        }
    }
    Ok(kept)
}

/// A borrowed connection of either database.
pub(crate) enum Lane<'c> {
    Pg(&'c mut PgConnection),
    Lite(&'c mut SqliteConnection),
}

impl Lane<'_> {
    pub(crate) fn lane(&mut self) -> Lane<'_> {
        match self {
            Self::Pg(c) => Lane::Pg(c),
            Self::Lite(c) => Lane::Lite(c),
        }
    }
}

/// A connection for single statements.
pub(crate) enum Session {
    Pg(PoolConnection<Postgres>),
    Lite(PoolConnection<Sqlite>),
}

impl Session {
    pub(crate) fn lane(&mut self) -> Lane<'_> {
        match self {
            Self::Pg(c) => Lane::Pg(c),
            Self::Lite(c) => Lane::Lite(c),
        }
    }
}

/// A transaction; dropped without `commit`, nothing happened.
pub(crate) enum Tx {
    Pg(Transaction<'static, Postgres>),
    Lite(Transaction<'static, Sqlite>),
}

impl Tx {
    pub(crate) fn lane(&mut self) -> Lane<'_> {
        match self {
            Self::Pg(t) => Lane::Pg(t),
            Self::Lite(t) => Lane::Lite(t),
        }
    }

    pub(crate) async fn commit(self) -> Result<()> {
        match self {
            Self::Pg(t) => t.commit().await,
            Self::Lite(t) => t.commit().await,
        }
        .map_err(Error::from)
    }
}
