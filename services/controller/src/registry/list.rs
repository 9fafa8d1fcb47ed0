//! ListHarnesses (registry.md §3.3, journal.md §10).

use journal::{HarnessToken, PageSize};
use wire::{HarnessRegistration, ListHarnessesRequest, ListHarnessesResponse};

use super::view::{configured, registered};
use super::{Registry, RegistryError};

impl Registry {
    /// One page of all harnesses, static and registered, in the order of their names.
    ///
    /// # Errors
    /// [`RegistryError::PageSize`], [`RegistryError::PageToken`], or a failed journal.
    pub async fn list(&self, request: &ListHarnessesRequest) -> Result<ListHarnessesResponse, RegistryError> {
        if request.page_size < 0 {
            return Err(RegistryError::PageSize);
        }
        let size = PageSize::from_wire(request.page_size).get();
        let after = match request.page_token.as_str() {
            "" => None,
            token => Some(HarnessToken::decode(token).map_err(|_| RegistryError::PageToken)?),
        };
        let after = after.as_ref().map(HarnessToken::name);
        let mut harnesses = self.named(after, size + 1, request.include_retired).await?;
        let more = harnesses.len() > size;
        harnesses.truncate(size);
        let next = harnesses.last().filter(|_| more).map(|last| HarnessToken::new(name_of(last)).encode());
        Ok(ListHarnessesResponse { harnesses, next_page_token: next.unwrap_or_default() })
    }

    /// The first `count` harnesses whose names come after one.
    async fn named(
        &self,
        after: Option<&str>,
        count: usize,
        include_retired: bool,
    ) -> Result<Vec<HarnessRegistration>, RegistryError> {
        let statics = self.parts.statics.names();
        // A static name hides a registration, so as many more may be needed.
        let rows = self.journal().registrations(after, count + statics.len(), include_retired).await?;
        let rows = rows.into_iter().filter(|row| !statics.contains(&row.name));
        let mut found: Vec<_> = rows.map(|row| registered(&row, self.look_at(&row))).collect();
        let statics = statics.iter().filter(|name| after.is_none_or(|after| name.as_str() > after));
        found.extend(statics.map(|name| configured(name)));
        found.sort_by(|a, b| name_of(a).cmp(name_of(b)));
        found.truncate(count);
        Ok(found)
    }
}

fn name_of(harness: &HarnessRegistration) -> &str {
    harness.metadata.as_ref().map_or("", |metadata| &metadata.name)
}
