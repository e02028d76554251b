//! Owns what validation asks of the stored definitions, answered while a transaction is open.

use std::cell::RefCell;

use serde_json::Value;

use super::catalog::Catalog;
use super::definitions::find;
use super::resource::{Definition, Resource};
use crate::model::check::Known;
use crate::store::{StoreError, Tx};

/// The definitions of a tenant, looked up when they are asked for.
pub(super) struct KnownInStore<'a, 't> {
    tx: RefCell<&'a mut Tx<'t>>,
    failed: RefCell<Option<StoreError>>,
    tenant: &'a str,
    catalog: &'a Catalog,
    state_schema: Option<&'a Value>,
}

impl<'a, 't> KnownInStore<'a, 't> {
    pub(super) const fn new(tx: &'a mut Tx<'t>, tenant: &'a str, catalog: &'a Catalog, state_schema: Option<&'a Value>) -> Self {
        Self { tx: RefCell::new(tx), failed: RefCell::new(None), tenant, catalog, state_schema }
    }

    /// What the database failed with while it was asked.
    pub(super) fn into_result(self) -> Result<(), StoreError> {
        self.failed.into_inner().map_or(Ok(()), Err)
    }

    fn find(&self, resource: Resource, name: &str) -> Option<Definition> {
        match find(&mut self.tx.borrow_mut(), self.tenant, self.catalog, resource, name) {
            Ok(found) => found,
            Err(error) => {
                self.failed.borrow_mut().get_or_insert(error);
                None
            }
        }
    }
}

impl Known for KnownInStore<'_, '_> {
    fn agent(&self, id: &str) -> bool {
        self.find(Resource::Agent, id).is_some()
    }
}
