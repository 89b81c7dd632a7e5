//! `ListTasks`: what the agent lists, cut down to what the caller owns (D16, T-TASK-3).
//!
//! *Takes* the call and a way to ask the agent for one page. *Gives* one page of the caller's own tasks with totals
//! counted here and a page token of ours. *Refuses* when the agent has more pages than are walked. *Never* shows a
//! count, a token or a task of anybody else's.

use super::{Owned, OwnerError, Ownership, Thing};
use a2a::{Answer, Call};
use json::{Json, Object};
use std::collections::HashSet;
use store::TenantId;

/// Most pages asked of an agent for one list.
const MOST_PAGES: usize = 20;
/// Tasks per page asked of an agent; the protocol's largest.
const UPSTREAM_PAGE: i64 = 100;
/// Tasks per page where the caller names no number.
const DEFAULT_PAGE: i64 = 50;

/// A list being gathered.
#[derive(Debug)]
pub struct Walk {
    size: usize,
    after: Option<String>,
    bound_to: String,
    pages: usize,
    own: Vec<Json>,
    seen: HashSet<String>,
}

/// What to do next.
#[derive(Debug)]
pub enum Step {
    /// Ask the agent for this page.
    Ask(Call),
    /// Nothing of the caller's can be in the list: the answer without asking the agent.
    Done(Answer),
}

/// Begins a walk: judges the caller's own page token and context.
///
/// # Errors
/// [`OwnerError`]
pub async fn begin(call: &Call, ownership: &Ownership) -> Result<(Walk, Step), OwnerError> {
    let bound_to = bound_to(call, ownership);
    let after = match call.page_token() {
        None => None,
        Some(token) => Some(ownership.owners.page_key.open(token, &bound_to).ok_or(OwnerError::BadPageToken)?),
    };
    let size = usize::try_from(call.page_size().unwrap_or(DEFAULT_PAGE).clamp(1, UPSTREAM_PAGE)).unwrap_or(1);
    let walk = Walk { size, after, bound_to, pages: 0, own: Vec::new(), seen: HashSet::new() };
    if let Some(context) = call.context_id() {
        let owned = ownership.owners.owned(&ownership.key(Thing::Context, context), ownership.whose()).await?;
        if owned.is_none() {
            let empty = walk.finish(call, ownership)?;
            return Ok((Walk::nothing(), Step::Done(empty)));
        }
    }
    let step = Step::Ask(page(call, None));
    Ok((walk, step))
}

fn page(call: &Call, token: Option<&str>) -> Call {
    let mut asked = call.clone();
    asked.set_page(token, UPSTREAM_PAGE);
    asked
}

/// What a token is good for: this principal, this card, this query.
fn bound_to(call: &Call, ownership: &Ownership) -> String {
    let mut query = call.params.clone();
    query.remove("pageToken");
    let query = String::from_utf8_lossy(&json::write(&Json::Object(query))).into_owned();
    format!("{}\n{}\n{}\n{query}", ownership.tenant, ownership.card, ownership.principal)
}

impl Walk {
    fn nothing() -> Self {
        Self { size: 1, after: None, bound_to: String::new(), pages: 0, own: Vec::new(), seen: HashSet::new() }
    }

    /// Takes one page of the agent's; says what is next.
    ///
    /// # Errors
    /// [`OwnerError::TooManyPages`], [`OwnerError::Unavailable`]
    pub async fn take(&mut self, listed: Answer, call: &Call, ownership: &Ownership) -> Result<Step, OwnerError> {
        self.pages += 1;
        let next = listed.body.get("nextPageToken").and_then(Json::as_str).unwrap_or_default().to_owned();
        let Json::Object(mut body) = listed.body else { return self.finish(call, ownership).map(Step::Done) };
        if let Some(Json::Array(tasks)) = body.remove("tasks") {
            self.keep(tasks, ownership).await?;
        }
        if next.is_empty() {
            return self.finish(call, ownership).map(Step::Done);
        }
        if self.pages >= MOST_PAGES {
            return Err(OwnerError::TooManyPages);
        }
        Ok(Step::Ask(page(call, Some(&next))))
    }

    /// Keeps the tasks that are the caller's, each once.
    async fn keep(&mut self, tasks: Vec<Json>, ownership: &Ownership) -> Result<(), OwnerError> {
        let named: Vec<(String, Json)> = tasks
            .into_iter()
            .filter_map(|task| Some((task.get("id")?.as_str()?.to_owned(), task)))
            .filter(|(id, _)| !self.seen.contains(id))
            .collect();
        let owners = ownership.owners_of(named.iter().map(|(id, _)| id.as_str())).await?;
        for (id, task) in named {
            if owners.contains(&id) && self.seen.insert(id) {
                self.own.push(task);
            }
        }
        Ok(())
    }

    fn finish(&self, call: &Call, ownership: &Ownership) -> Result<Answer, OwnerError> {
        let id_of = |task: &Json| task.get("id").and_then(Json::as_str).map(str::to_owned);
        let start = match &self.after {
            None => 0,
            // A task that has gone since ends the list rather than beginning it anew.
            Some(last) => self
                .own
                .iter()
                .position(|task| id_of(task).as_deref() == Some(last))
                .map_or(self.own.len(), |at| at + 1),
        };
        let page: Vec<Json> = self.own.iter().skip(start).take(self.size).cloned().collect();
        let more = self.own.len() > start.saturating_add(page.len());
        let next = match page.last().and_then(id_of).filter(|_| more) {
            None => String::new(),
            Some(last) => ownership.owners.page_key.seal(&last, &self.bound_to).ok_or(OwnerError::Unavailable)?,
        };
        let count = |n: usize| Json::from(i64::try_from(n).unwrap_or(i64::MAX));
        let body: Object = [
            ("pageSize", count(self.size)),
            ("totalSize", count(self.own.len())),
            ("nextPageToken", Json::from(next)),
            ("tasks", Json::Array(page)),
        ]
        .into();
        Ok(Answer { body: Json::Object(body), origin: call.origin })
    }
}

impl Ownership {
    /// Which of `ids` are tasks of the caller's.
    async fn owners_of<'a>(&self, ids: impl Iterator<Item = &'a str>) -> Result<HashSet<String>, OwnerError> {
        let mut own = HashSet::new();
        let mut unknown: Vec<&str> = Vec::new();
        for id in ids {
            let key = self.key(Thing::Task, id);
            match self.owners.known.get(&key).or_else(|| self.owners.pending.owner(&key).map(Owned::pending)) {
                Some(owner) if self.may_see(&owner) => {
                    own.insert(id.to_owned());
                }
                Some(_) => {}
                None => unknown.push(id),
            }
        }
        if unknown.is_empty() {
            return Ok(own);
        }
        let tenant = TenantId::new(&self.tenant).ok_or(OwnerError::Unavailable)?;
        let rows = self.owners.store.task_owners(&tenant, &self.card, &unknown).await;
        for row in rows.map_err(|_| OwnerError::Unavailable)? {
            let owner = Owned { principal: row.principal_id.into(), since: row.created };
            self.owners.known.insert(self.key(Thing::Task, &row.task_id), owner.clone());
            if self.may_see(&owner) {
                own.insert(row.task_id);
            }
        }
        Ok(own)
    }
}
