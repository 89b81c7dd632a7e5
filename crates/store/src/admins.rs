//! Administrators: accounts, sessions of browsers, tokens of programs. They belong to no tenant; what one may do is a
//! document of roles that the caller writes and reads. Secrets arrive hashed: a copy of these tables opens nothing.
//!
//! An account's changes are no changes of the registry: nothing on the request path knows administrators.

use crate::admin_changes::Touched;
use crate::open::Durability;
use crate::sql::Tx;
use crate::{Error, IfMatch, Page, Result, Store, Table, text};

word! {
    /// Whether an administrator may sign in.
    AdminState {
        /// It may.
        Active = "active",
        /// It may not; its sessions and tokens have ended.
        Disabled = "disabled",
    }
}

row! {
    /// An administrator's account.
    pub AdminRow in Admins {
        /// `adm-…`
        id: String,
        /// What is typed in to sign in.
        name: String,
        /// For people.
        display_name: String,
        /// The slow hash of the password, in PHC form; none where nobody can sign in with one.
        password: Option<String>,
        /// What it may do.
        roles: Vec<u8>,
        /// Whether it may sign in.
        state: AdminState,
        /// Microseconds.
        created: i64,
        /// Microseconds.
        updated: i64,
        /// Of the last sign-in, in microseconds.
        signed_in: Option<i64>,
        /// Counts the account's changes.
        revision: i64,
        /// Who vouches for it, where it does not sign in with a password.
        sso_issuer: Option<String>,
        /// That one's name for it.
        sso_subject: Option<String>,
    }
}

row! {
    /// A session of a browser.
    pub AdminSessionRow in AdminSessions {
        /// The SHA-256 of the cookie, in hexadecimal.
        id: String,
        /// Whose.
        admin_id: String,
        /// From where it was opened.
        source: String,
        /// Microseconds.
        created: i64,
        /// When it was last used, to the minute.
        seen: i64,
    }
}

row! {
    /// A token of a program.
    pub AdminTokenRow in AdminTokens {
        /// `tok-…`
        id: String,
        /// For people.
        name: String,
        /// The SHA-256 of the token, in hexadecimal.
        hash: String,
        /// What may be shown of it.
        hint: String,
        /// What it may do.
        roles: Vec<u8>,
        /// The name of the account that made it: it ends with that.
        made_by: String,
        /// Microseconds.
        created: i64,
        /// Microseconds; none for one that does not expire.
        expires: Option<i64>,
        /// Microseconds.
        revoked: Option<i64>,
        /// When it was last used, to the minute.
        used: Option<i64>,
    }
}

/// An account to be made; it begins active.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in AdminRow")]
pub struct NewAdmin {
    pub id: String,
    pub name: String,
    pub display_name: String,
    pub password: Option<String>,
    pub roles: Vec<u8>,
}

/// What can change of an account besides its password.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in AdminRow")]
pub struct AdminEdit {
    pub display_name: String,
    pub roles: Vec<u8>,
    pub state: AdminState,
}

/// A token to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in AdminTokenRow")]
pub struct NewAdminToken {
    pub id: String,
    pub name: String,
    pub hash: String,
    pub hint: String,
    pub roles: Vec<u8>,
    pub made_by: String,
    pub expires: Option<i64>,
}

impl Store {
    /// Whether there is any account.
    pub async fn has_admins(&self) -> Result<bool> {
        let mut reader = self.reader().await?;
        Ok(one!(reader, i64, COUNT)?.unwrap_or(0) > 0)
    }

    /// Makes the very first account; `false` when somebody was faster.
    pub async fn create_first_admin(&self, admin: &NewAdmin, now: i64) -> Result<bool> {
        check(admin)?;
        let mut tx = self.begin(Durability::Synced).await?;
        x!(tx, ONE_AT_A_TIME)?;
        if one!(tx, i64, COUNT)?.unwrap_or(0) > 0 {
            return Ok(false);
        }
        insert(&mut tx, admin, now).await?;
        self.sign(&mut tx, account(&admin.name, None)).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Makes an account.
    pub async fn create_admin(&self, admin: &NewAdmin, now: i64) -> Result<()> {
        check(admin)?;
        let mut tx = self.begin(Durability::Synced).await?;
        insert(&mut tx, admin, now).await?;
        self.sign(&mut tx, account(&admin.name, None)).await?;
        tx.commit().await
    }

    /// Changes an account; one that is disabled loses its sessions and tokens.
    pub async fn update_admin(&self, name: &str, expected: IfMatch, edit: &AdminEdit, now: i64) -> Result<()> {
        text::free("display_name", &edit.display_name)?;
        let mut tx = self.begin(Durability::Synced).await?;
        let AdminRow { id, revision, .. } = living(&mut tx, name, expected).await?;
        let (display_name, state) = (edit.display_name.as_str(), edit.state.as_str());
        x!(tx, UPDATE, id.as_str(), display_name, edit.roles.as_slice(), state, now)?;
        match edit.state {
            AdminState::Active => {}
            AdminState::Disabled => end(&mut tx, &id, name, now).await?,
        }
        self.sign(&mut tx, account(name, Some(revision))).await?;
        tx.commit().await
    }

    /// Sets a password and ends every session but `keep`. Where none is kept, whoever had the account has lost it: the
    /// tokens that it made are revoked too.
    pub async fn set_admin_password(&self, name: &str, password: &str, keep: Option<&str>, now: i64) -> Result<()> {
        let mut tx = self.begin(Durability::Synced).await?;
        let AdminRow { id, revision, .. } = living(&mut tx, name, IfMatch::Any).await?;
        x!(tx, SET_PASSWORD, id.as_str(), password, now)?;
        match keep {
            Some(keep) => drop(x!(tx, END_ALL, id.as_str(), keep)?),
            None => end(&mut tx, &id, name, now).await?,
        }
        self.sign(&mut tx, account(name, Some(revision))).await?;
        tx.commit().await
    }

    /// Leaves a tombstone; ends its sessions and tokens. The name is free again.
    pub async fn delete_admin(&self, name: &str, expected: IfMatch, now: i64) -> Result<()> {
        let mut tx = self.begin(Durability::Synced).await?;
        let AdminRow { id, revision, .. } = living(&mut tx, name, expected).await?;
        x!(tx, DELETE, id.as_str(), now)?;
        end(&mut tx, &id, name, now).await?;
        self.sign(&mut tx, account(name, Some(revision))).await?;
        tx.commit().await
    }

    /// A living account by name.
    pub async fn admin(&self, name: &str) -> Result<Option<AdminRow>> {
        let mut reader = self.reader().await?;
        one!(reader, AdminRow, BY_NAME, name)
    }

    /// A living account by id.
    pub async fn admin_by_id(&self, id: &str) -> Result<Option<AdminRow>> {
        let mut reader = self.reader().await?;
        one!(reader, AdminRow, BY_ID, id)
    }

    /// Living accounts by name.
    pub async fn admins(&self, page: Page<'_>) -> Result<Vec<AdminRow>> {
        let mut reader = self.reader().await?;
        q!(reader, AdminRow, LIST, page.after, page.limit())
    }

    /// Opens a session; forgets all that began before `stale`.
    pub async fn open_admin_session(&self, session: &AdminSessionRow, stale: i64) -> Result<()> {
        let mut tx = self.begin(Durability::Synced).await?;
        open(&mut tx, session, stale).await?;
        tx.commit().await
    }

    /// A session.
    pub async fn admin_session(&self, id: &str) -> Result<Option<AdminSessionRow>> {
        let mut reader = self.reader().await?;
        one!(reader, AdminSessionRow, SESSION, id)
    }

    /// Remembers that a session was used.
    pub async fn touch_admin_session(&self, id: &str, now: i64) -> Result<()> {
        let mut writer = self.unsynced_writer().await?;
        x!(writer, TOUCH, id, now).map(drop)
    }

    /// Ends a session.
    pub async fn end_admin_session(&self, id: &str) -> Result<()> {
        let mut tx = self.begin(Durability::Synced).await?;
        x!(tx, END, id)?;
        tx.commit().await
    }

    /// Makes a token.
    pub async fn create_admin_token(&self, token: &NewAdminToken, now: i64) -> Result<()> {
        text::key("name", &token.name)?;
        let mut tx = self.begin(Durability::Synced).await?;
        let (id, name, hash) = (token.id.as_str(), token.name.as_str(), token.hash.as_str());
        let (hint, roles, made_by) = (token.hint.as_str(), token.roles.as_slice(), token.made_by.as_str());
        x!(tx, MAKE_TOKEN, id, name, hash, hint, roles, made_by, now, token.expires)
            .map_err(|error| error.or_taken(Table::AdminTokens))?;
        self.sign(&mut tx, program(id)).await?;
        tx.commit().await
    }

    /// A token by its hash, revoked or not.
    pub async fn admin_token(&self, hash: &str) -> Result<Option<AdminTokenRow>> {
        let mut reader = self.reader().await?;
        one!(reader, AdminTokenRow, TOKEN, hash)
    }

    /// A token by its id, revoked or not.
    pub async fn admin_token_by_id(&self, id: &str) -> Result<Option<AdminTokenRow>> {
        let mut reader = self.reader().await?;
        one!(reader, AdminTokenRow, TOKEN_BY_ID, id)
    }

    /// Tokens by id.
    pub async fn admin_tokens(&self, page: Page<'_>) -> Result<Vec<AdminTokenRow>> {
        let mut reader = self.reader().await?;
        q!(reader, AdminTokenRow, TOKENS, page.after, page.limit())
    }

    /// Revokes a token.
    pub async fn revoke_admin_token(&self, id: &str, now: i64) -> Result<()> {
        let mut tx = self.begin(Durability::Synced).await?;
        if x!(tx, REVOKE_TOKEN, id, now)? == 0 {
            return Err(Error::NotFound { table: Table::AdminTokens });
        }
        self.sign(&mut tx, program(id)).await?;
        tx.commit().await
    }

    /// Remembers that a token was used.
    pub async fn touch_admin_token(&self, id: &str, now: i64) -> Result<()> {
        let mut writer = self.unsynced_writer().await?;
        x!(writer, TOUCH_TOKEN, id, now).map(drop)
    }
}

/// Refuses what can't be stored.
pub(crate) fn check(admin: &NewAdmin) -> Result<()> {
    text::key("id", &admin.id)?;
    text::key("name", &admin.name)?;
    text::free("display_name", &admin.display_name)
}

/// Writes an account; its name must be free.
pub(crate) async fn insert(tx: &mut Tx, admin: &NewAdmin, now: i64) -> Result<()> {
    let (id, name, display_name) = (admin.id.as_str(), admin.name.as_str(), admin.display_name.as_str());
    let (password, state) = (admin.password.as_deref(), AdminState::Active.as_str());
    x!(tx, CREATE, id, name, display_name, password, admin.roles.as_slice(), state, now)
        .map_err(|error| error.or_taken(Table::Admins))?;
    Ok(())
}

/// Ends what an account has opened: its sessions, and the tokens that it made.
pub(crate) async fn end(tx: &mut Tx, id: &str, name: &str, now: i64) -> Result<()> {
    x!(tx, END_ALL, id, "")?;
    x!(tx, REVOKE_MADE_BY, name, now)?;
    Ok(())
}

/// Opens a session; forgets all that began before `stale`.
pub(crate) async fn open(tx: &mut Tx, session: &AdminSessionRow, stale: i64) -> Result<()> {
    x!(tx, FORGET, stale)?;
    let (id, admin_id, source) = (session.id.as_str(), session.admin_id.as_str(), text::clip(&session.source));
    x!(tx, OPEN, id, admin_id, source.as_ref(), session.created, session.seen)?;
    x!(tx, SIGNED_IN, admin_id, session.created).map(drop)
}

/// What a change of an account is told as; one that was not there before is at its first revision.
pub(crate) fn account(name: &str, before: Option<i64>) -> Touched<'_> {
    let after = Some(before.map_or(1, |before| before.saturating_add(1)));
    Touched { tenant: "", kind: "admin", name, before, after }
}

fn program(id: &str) -> Touched<'_> {
    Touched { tenant: "", kind: "token", name: id, before: None, after: None }
}

/// A living account at the expected revision, locked until the transaction ends.
async fn living(tx: &mut Tx, name: &str, expected: IfMatch) -> Result<AdminRow> {
    x!(tx, ONE_AT_A_TIME)?;
    let row = one!(tx, AdminRow, BY_NAME, name)?.ok_or(Error::NotFound { table: Table::Admins })?;
    match expected {
        IfMatch::Revision(revision) if revision != row.revision => Err(Error::Conflict { current: row.revision }),
        IfMatch::Revision(_) | IfMatch::Any => Ok(row),
    }
}

statements! {
    both {
        // The one row that every change of an account locks.
        ONE_AT_A_TIME = "UPDATE revision SET pruned = pruned WHERE id = 1";
        COUNT = "SELECT COUNT(*) FROM admins WHERE deleted IS NULL";
        CREATE = "INSERT INTO admins (id, name, display_name, password, roles, state, created, updated, revision)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $7, 1)";
        UPDATE = "UPDATE admins SET display_name = $2, roles = $3, state = $4, updated = $5, revision = revision + 1
            WHERE id = $1";
        SET_PASSWORD = "UPDATE admins SET password = $2, updated = $3, revision = revision + 1 WHERE id = $1";
        DELETE = "UPDATE admins SET deleted = $2, updated = $2, password = NULL, revision = revision + 1 WHERE id = $1";
        SIGNED_IN = "UPDATE admins SET signed_in = $2 WHERE id = $1";
        BY_NAME = "SELECT id, name, display_name, password, roles, state, created, updated, signed_in, revision,
            sso_issuer, sso_subject FROM admins WHERE name = $1 AND deleted IS NULL";
        BY_ID = "SELECT id, name, display_name, password, roles, state, created, updated, signed_in, revision,
            sso_issuer, sso_subject FROM admins WHERE id = $1 AND deleted IS NULL";
        LIST = "SELECT id, name, display_name, password, roles, state, created, updated, signed_in, revision,
            sso_issuer, sso_subject FROM admins WHERE name > $1 AND deleted IS NULL ORDER BY name LIMIT $2";
        OPEN = "INSERT INTO admin_sessions (id, admin_id, source, created, seen) VALUES ($1, $2, $3, $4, $5)";
        SESSION = "SELECT id, admin_id, source, created, seen FROM admin_sessions WHERE id = $1";
        TOUCH = "UPDATE admin_sessions SET seen = $2 WHERE id = $1 AND seen < $2";
        END = "DELETE FROM admin_sessions WHERE id = $1";
        END_ALL = "DELETE FROM admin_sessions WHERE admin_id = $1 AND id <> $2";
        FORGET = "DELETE FROM admin_sessions WHERE created < $1";
        MAKE_TOKEN = "INSERT INTO admin_tokens (id, name, hash, hint, roles, made_by, created, expires)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8)";
        TOKEN = "SELECT id, name, hash, hint, roles, made_by, created, expires, revoked, used
            FROM admin_tokens WHERE hash = $1";
        TOKEN_BY_ID = "SELECT id, name, hash, hint, roles, made_by, created, expires, revoked, used
            FROM admin_tokens WHERE id = $1";
        TOKENS = "SELECT id, name, hash, hint, roles, made_by, created, expires, revoked, used
            FROM admin_tokens WHERE id > $1 ORDER BY id LIMIT $2";
        REVOKE_TOKEN = "UPDATE admin_tokens SET revoked = COALESCE(revoked, $2) WHERE id = $1";
        REVOKE_MADE_BY = "UPDATE admin_tokens SET revoked = $2 WHERE made_by = $1 AND revoked IS NULL";
        TOUCH_TOKEN = "UPDATE admin_tokens SET used = $2 WHERE id = $1";
    }
}
