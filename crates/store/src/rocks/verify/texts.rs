//! Checks the kept texts against the records.

use super::Verification;
use crate::rocks::schema::{self, Family};
use crate::{Record, StoreError};

impl Verification<'_> {
    pub(super) fn texts(&mut self) -> Result<(), StoreError> {
        self.pass(Family::Texts, Self::text)?;
        if self.needed_texts > 0 {
            self.pass(Family::Books, Self::missing_text)
        } else {
            Ok(())
        }
    }

    /// Reports a text that no book keeps, or that is not its book's.
    fn text(&mut self, key: &[u8], text: &[u8]) -> Result<(), StoreError> {
        let Some(book) = schema::read_book(key) else {
            self.fault(format!("a text has the invalid key {key:?}"));
            return Ok(());
        };
        match self.snapshot.record(book) {
            Ok(Some(record)) if record.text_kept => {
                self.needed_texts = self.needed_texts.saturating_sub(1);
                if !str::from_utf8(text).is_ok_and(|text| record.is_of(text)) {
                    self.fault(format!(
                        "the kept text of {} (book {}) is not its text",
                        record.key, book.0
                    ));
                }
            }
            Ok(Some(record)) => {
                self.fault(format!(
                    "there is a text of {} (book {}), which keeps none",
                    record.key, book.0
                ));
            }
            Ok(None) => self.fault(format!(
                "there is a text of book {}, which does not exist",
                book.0
            )),
            Err(StoreError::Damaged { .. }) => {}
            Err(e) => return Err(e),
        }
        Ok(())
    }

    fn missing_text(&mut self, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        // Unreadable records were reported in the first pass.
        let record = serde_json::from_slice::<Record>(value)
            .ok()
            .filter(|record| record.text_kept);
        let Some((book, record)) = schema::read_book(key).zip(record) else {
            return Ok(());
        };
        let text = self.snapshot.get(Family::Texts, &schema::book_key(book));
        if self.or_fault(text)?.is_some_and(|text| text.is_none()) {
            self.fault(format!(
                "the kept text of {} (book {}) is lost",
                record.key, book.0
            ));
        }
        Ok(())
    }
}
