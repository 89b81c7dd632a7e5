//! Every statement is understood by every database it is meant for, and every tenant-owned one names its tenant.

use sqlx::{ConnectOptions, Executor, SqlStr};

use crate::sql::Statements;
use crate::testing;

const ALL: &[(&str, &Statements)] = &[
    ("admin_changes", &crate::admin_changes::STATEMENTS),
    ("admins", &crate::admins::STATEMENTS),
    ("audit", &crate::audit::STATEMENTS),
    ("cards", &crate::cards::STATEMENTS),
    ("change", &crate::change::STATEMENTS),
    ("conditions", &crate::conditions::STATEMENTS),
    ("expiry", &crate::expiry::STATEMENTS),
    ("grants", &crate::grants::STATEMENTS),
    ("issuers", &crate::issuers::STATEMENTS),
    ("keys", &crate::keys::STATEMENTS),
    ("marks", &crate::marks::STATEMENTS),
    ("open", &crate::open::STATEMENTS),
    ("places", &crate::places::STATEMENTS),
    ("policies", &crate::policies::STATEMENTS),
    ("principals", &crate::principals::STATEMENTS),
    ("revision", &crate::revision::STATEMENTS),
    ("signing_keys", &crate::signing_keys::STATEMENTS),
    ("sso", &crate::sso::STATEMENTS),
    ("tasks", &crate::tasks::STATEMENTS),
    ("tenants", &crate::tenants::STATEMENTS),
    ("usage", &crate::usage::STATEMENTS),
    ("world", &crate::world::STATEMENTS),
];

const SHARED: &[(&str, &str)] = &[
    ("cards::ALL", crate::cards::ALL),
    ("conditions::ALL", crate::conditions::ALL),
    ("grants::ALL", crate::grants::ALL),
    ("issuers::ALL", crate::issuers::ALL),
    ("keys::ALL", crate::keys::ALL),
    ("policies::ALL", crate::policies::ALL),
    ("principals::ALL", crate::principals::ALL),
    ("principals::LIVING", crate::principals::LIVING),
    ("signing_keys::ALL", crate::signing_keys::ALL),
    ("tenants::ONE", crate::tenants::ONE),
];

/// Statements that belong to no tenant, and why.
const TENANTLESS: &[(&str, &str)] = &[
    ("admin_changes::LIST_ALL", "the platform's administrators see all"),
    ("admins::BY_ID", "administrators belong to no tenant"),
    ("admins::BY_NAME", "administrators belong to no tenant"),
    ("admins::COUNT", "administrators belong to no tenant"),
    ("admins::CREATE", "administrators belong to no tenant"),
    ("admins::DELETE", "administrators belong to no tenant"),
    ("admins::END", "administrators belong to no tenant"),
    ("admins::END_ALL", "administrators belong to no tenant"),
    ("admins::FORGET", "administrators belong to no tenant"),
    ("admins::LIST", "administrators belong to no tenant"),
    ("admins::MAKE_TOKEN", "administrators belong to no tenant"),
    ("admins::ONE_AT_A_TIME", "administrators belong to no tenant"),
    ("admins::OPEN", "administrators belong to no tenant"),
    ("admins::REVOKE_MADE_BY", "administrators belong to no tenant"),
    ("admins::REVOKE_TOKEN", "administrators belong to no tenant"),
    ("admins::SESSION", "administrators belong to no tenant"),
    ("admins::SET_PASSWORD", "administrators belong to no tenant"),
    ("admins::SIGNED_IN", "administrators belong to no tenant"),
    ("admins::TOKEN", "administrators belong to no tenant"),
    ("admins::TOKENS", "administrators belong to no tenant"),
    ("admins::TOKEN_BY_ID", "administrators belong to no tenant"),
    ("admins::TOUCH", "administrators belong to no tenant"),
    ("admins::TOUCH_TOKEN", "administrators belong to no tenant"),
    ("admins::UPDATE", "administrators belong to no tenant"),
    ("audit::HIGH_WATER", "of a writer, which serves all tenants"),
    ("change::BUMP", "the one revision"),
    ("change::NOTIFY", "the one revision"),
    ("open::ALIVE", "no table"),
    ("open::APPLIED", "migrations"),
    ("open::LITE_MIGRATED", "migrations"),
    ("open::PG_MIGRATED", "migrations"),
    ("open::PG_WRITABLE", "no table"),
    ("places::FORGET", "old leases of all tenants"),
    ("places::GIVE_UP_ALL", "of a replica, which serves all tenants"),
    ("places::PG_NOW", "no table"),
    ("revision::CHANGES_SINCE", "replicas follow all tenants"),
    ("revision::MARK_PRUNED", "the one revision"),
    ("revision::POSITION", "the one revision"),
    ("revision::PRUNE", "replicas follow all tenants"),
    ("sso::BY_ID", "administrators belong to no tenant"),
    ("sso::BY_NAME", "administrators belong to no tenant"),
    ("sso::BY_SUBJECT", "administrators belong to no tenant"),
    ("sso::FORGET_USES", "administrators belong to no tenant"),
    ("sso::ONE_AT_A_TIME", "administrators belong to no tenant"),
    ("sso::SET_ROLES", "administrators belong to no tenant"),
    ("sso::USE", "administrators belong to no tenant"),
    ("sso::VOUCH", "administrators belong to no tenant"),
    ("tenants::LIST", "the tenants themselves"),
    ("tenants::NAMES", "the tenants themselves"),
    ("usage::CURRENT", "replicas count for all tenants"),
    ("usage::FORGET", "old counts of all tenants"),
    ("world::REVISION", "the one revision"),
];

fn named(pick: impl Fn(&Statements) -> Vec<(&'static str, &'static str)>) -> Vec<(String, &'static str)> {
    let own = ALL.iter().flat_map(|(file, statements)| {
        pick(statements).into_iter().map(move |(name, sql)| (format!("{file}::{name}"), sql))
    });
    own.chain(SHARED.iter().map(|(name, sql)| ((*name).to_owned(), *sql))).collect()
}

#[test]
fn every_statement_of_a_tenant_names_it_first() {
    let statements = named(|of| [of.both, of.postgres, of.sqlite].concat());
    assert!(statements.len() > 80, "{}", statements.len());
    for (name, sql) in &statements {
        let words = sql.split_whitespace().collect::<Vec<_>>().join(" ");
        // An insertion names the tenant as a column; the arguments' types see to the rest.
        let inserts = words.starts_with("INSERT INTO") && words.split(')').next().unwrap_or("").contains("tenant");
        let column = if name.starts_with("tenants::") || name == "change::LIVING_TENANT" { "name" } else { "tenant" };
        let asks = words.contains(&format!("WHERE {column} = $1"));
        let inserts_tenant = name == "tenants::CREATE";
        let exempt = TENANTLESS.iter().any(|(exempt, _)| exempt == name);
        assert!((asks || inserts || inserts_tenant) != exempt, "{name}: {words}");
        if words.contains(" FROM ") && words.starts_with("INSERT") && !words.contains("UNNEST") {
            assert!(asks, "{name} copies rows of a tenant it does not name");
        }
    }
    for (exempt, _) in TENANTLESS {
        assert!(statements.iter().any(|(name, _)| name == exempt), "{exempt} is gone");
    }
}

#[tokio::test]
async fn every_statement_is_understood_by_sqlite() {
    let given = testing::sqlite_file().await;
    let options: sqlx::sqlite::SqliteConnectOptions = given.url.parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    for (name, sql) in named(|of| [of.both, of.sqlite].concat()) {
        (&mut connection).prepare(SqlStr::from_static(sql)).await.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[tokio::test]
async fn every_statement_is_understood_by_postgres() {
    let Some(given) = testing::postgres().await else { return };
    let options: sqlx::postgres::PgConnectOptions = given.url.parse().unwrap();
    let mut connection = options.connect().await.unwrap();
    for (name, sql) in named(|of| [of.both, of.postgres].concat()) {
        (&mut connection).prepare(SqlStr::from_static(sql)).await.unwrap_or_else(|e| panic!("{name}: {e}"));
    }
}

#[test]
fn no_statement_is_put_together_at_run_time() {
    let sources = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap();
    let mut read = 0;
    for path in sources.map(|entry| entry.unwrap().path()).filter(|path| path.is_file()) {
        // The tests' databases have names, and names can't be parameters.
        if path.ends_with("testing.rs") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("AssertSqlSafe") && !text.contains("QueryBuilder"), "{}", path.display());
        read += 1;
    }
    assert!(read > 10);
}
