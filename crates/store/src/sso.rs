//! Accounts of administrators that another issuer vouches for. An account is found by issuer and subject, never by its
//! name: a name that another account has is not taken over. Everything about one sign-in is one transaction.
//!
//! Who may come in, and with which roles, is decided by the caller; here it is written down.

use crate::admins::{self, AdminRow, AdminSessionRow, AdminState, NewAdmin};
use crate::open::Durability;
use crate::sql::Tx;
use crate::{Result, Store, text};

/// Whom an issuer vouches for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SsoSubject {
    /// The issuer.
    pub issuer: String,
    /// Its name for the person, which never changes.
    pub subject: String,
}

/// A sign-in that the issuer has proven.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SsoEntry {
    /// The digest of the sign-in's state: it is finished once.
    pub state: String,
    /// Whom the issuer vouches for.
    pub subject: SsoSubject,
    /// The account as it is made where there is none; its roles are given to one that there is.
    pub account: NewAdmin,
    /// The session to open; whose it is, is filled in.
    pub session: AdminSessionRow,
    /// Sessions and finished sign-ins from before are forgotten.
    pub stale: i64,
}

/// What became of a sign-in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SsoOutcome {
    /// The account is disabled; nothing was opened.
    Disabled,
    /// The session is open.
    Entered(Box<AdminRow>),
    /// Another account has the name; nothing was made.
    NameTaken,
    /// It was finished before; nothing was opened.
    Replayed,
}

impl Store {
    /// Finishes a sign-in: makes the account where there is none, gives it its roles, opens the session.
    pub async fn enter_by_sso(&self, entry: &SsoEntry, now: i64) -> Result<SsoOutcome> {
        entry.subject.check()?;
        admins::check(&entry.account)?;
        let mut tx = self.begin(Durability::Synced).await?;
        x!(tx, ONE_AT_A_TIME)?;
        x!(tx, FORGET_USES, entry.stale)?;
        if x!(tx, USE, entry.state.as_str(), now)? == 0 {
            return Ok(SsoOutcome::Replayed);
        }
        let (issuer, subject) = (entry.subject.issuer.as_str(), entry.subject.subject.as_str());
        let outcome = match one!(tx, AdminRow, BY_SUBJECT, issuer, subject)? {
            Some(row) if row.state == AdminState::Disabled => SsoOutcome::Disabled,
            Some(row) => {
                if row.roles != entry.account.roles {
                    x!(tx, SET_ROLES, row.id.as_str(), entry.account.roles.as_slice(), now)?;
                    self.sign(&mut tx, admins::account(&row.name, Some(row.revision))).await?;
                }
                opened(&mut tx, &row.id, entry).await?
            }
            None if one!(tx, AdminRow, BY_NAME, entry.account.name.as_str())?.is_some() => SsoOutcome::NameTaken,
            None => {
                admins::insert(&mut tx, &entry.account, now).await?;
                x!(tx, VOUCH, entry.account.id.as_str(), issuer, subject)?;
                self.sign(&mut tx, admins::account(&entry.account.name, None)).await?;
                opened(&mut tx, &entry.account.id, entry).await?
            }
        };
        tx.commit().await?;
        Ok(outcome)
    }

    /// The issuer gives a person no role any more: its account keeps none, its sessions end, its tokens are revoked.
    pub async fn strip_sso_admin(&self, who: &SsoSubject, no_roles: &[u8], now: i64) -> Result<()> {
        let mut tx = self.begin(Durability::Synced).await?;
        x!(tx, ONE_AT_A_TIME)?;
        let (issuer, subject) = (who.issuer.as_str(), who.subject.as_str());
        if let Some(row) = one!(tx, AdminRow, BY_SUBJECT, issuer, subject)? {
            if row.roles != no_roles {
                x!(tx, SET_ROLES, row.id.as_str(), no_roles, now)?;
                self.sign(&mut tx, admins::account(&row.name, Some(row.revision))).await?;
            }
            admins::end(&mut tx, &row.id, &row.name, now).await?;
        }
        tx.commit().await
    }
}

async fn opened(tx: &mut Tx, admin: &str, entry: &SsoEntry) -> Result<SsoOutcome> {
    let session = AdminSessionRow { admin_id: admin.to_owned(), ..entry.session.clone() };
    admins::open(tx, &session, entry.stale).await?;
    let row = one!(tx, AdminRow, BY_ID, admin)?;
    Ok(row.map_or(SsoOutcome::Disabled, |row| SsoOutcome::Entered(Box::new(row))))
}

impl SsoSubject {
    /// Refuses what no database can hold.
    fn check(&self) -> Result<()> {
        text::key("sso_issuer", &self.issuer)?;
        text::key("sso_subject", &self.subject)
    }
}

statements! {
    both {
        ONE_AT_A_TIME = "UPDATE revision SET pruned = pruned WHERE id = 1";
        FORGET_USES = "DELETE FROM admin_sso_uses WHERE used < $1";
        USE = "INSERT INTO admin_sso_uses (id, used) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING";
        SET_ROLES = "UPDATE admins SET roles = $2, updated = $3, revision = revision + 1 WHERE id = $1";
        VOUCH = "UPDATE admins SET sso_issuer = $2, sso_subject = $3 WHERE id = $1";
        BY_SUBJECT = "SELECT id, name, display_name, password, roles, state, created, updated, signed_in, revision,
            sso_issuer, sso_subject FROM admins WHERE sso_issuer = $1 AND sso_subject = $2 AND deleted IS NULL";
        BY_NAME = "SELECT id, name, display_name, password, roles, state, created, updated, signed_in, revision,
            sso_issuer, sso_subject FROM admins WHERE name = $1 AND deleted IS NULL";
        BY_ID = "SELECT id, name, display_name, password, roles, state, created, updated, signed_in, revision,
            sso_issuer, sso_subject FROM admins WHERE id = $1 AND deleted IS NULL";
    }
}
