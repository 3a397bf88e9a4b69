//! What webhooks tell of filed checks and decisions.

use std::collections::BTreeSet;
use std::ops::Deref;

use super::queue::state_after;
use super::{Catalogue, CatalogueError, Decisions, libraries_of, parsed};
use crate::api::{CheckState, Decision, Key, Ruling};
use crate::permission::Permission;

impl<C: Deref<Target = Catalogue>> Decisions<C> {
    /// An entry as lists show it to a key, if it sees it.
    pub(crate) fn told_to(&self, key: &Key, id: &str) -> Result<Option<Decision>, CatalogueError> {
        if !key.may_see_checks() {
            return Ok(None);
        }
        let by = key.viewer();
        let mut shown = self.decision_of(parsed(id)?, None, by.as_ref())?;
        self.0.check_queue().add_states(shown.as_mut())?;
        Ok(shown)
    }

    /// A filed check that waited for a decision, if a key may make it, with the libraries of the key that it matched.
    pub(crate) fn waiting_for(
        &self,
        key: &Key,
        id: &str,
    ) -> Result<Option<(Decision, BTreeSet<String>)>, CatalogueError> {
        let check = parsed(id)?;
        let Some(entry) = self.entry(check)? else {
            return Ok(None);
        };
        let is_waiting =
            entry.ruling == Ruling::Checked && state_after(&entry, false) == CheckState::Open;
        let may_decide = match key.viewer() {
            Some(by) => self.matches_library_of(check, &by)?,
            None => true,
        };
        if !is_waiting || !may_decide {
            return Ok(None);
        }
        let filed = self.filed(check)?;
        let is_told = |library: &&str| {
            key.permits(Permission::Administer) || key.libraries.contains(*library)
        };
        let matched = filed.iter().flat_map(libraries_of);
        let libraries = matched.filter(is_told).map(str::to_owned).collect();
        Ok(self.told_to(key, id)?.map(|check| (check, libraries)))
    }
}
