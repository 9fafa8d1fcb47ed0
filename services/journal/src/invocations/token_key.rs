//! The key that tokens are signed with where the operator gives none.

use std::fmt;

use env::hex_id;
use futures::FutureExt;
use prost::Message;

use crate::error::refuse;
use crate::rows::{self, TokenKeyRow, decode_digest};
use crate::{Journal, JournalError, keys};

/// A key of this journal's own.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenKey {
    /// Names it in tokens.
    pub id: String,
    /// Random.
    pub secret: [u8; 32],
}

impl fmt::Debug for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Journal {
    /// The key of this journal, which the first host that asks makes.
    ///
    /// # Errors
    /// [`JournalError`].
    pub async fn token_key(&self) -> Result<TokenKey, JournalError> {
        let drawn = TokenKeyRow { id: hex_id::<8>(&self.env), secret: self.env.random_bytes::<32>().to_vec() };
        let row = self
            .store
            .transact::<_, JournalError, _>(|transaction, _| {
                let drawn = drawn.clone();
                // An earlier attempt that was committed is found like the key of any other host.
                async move {
                    if let Some(value) = transaction.get(&keys::token_key()).await? {
                        return rows::decode("token key", &value).map_err(refuse);
                    }
                    transaction.set(&keys::token_key(), &drawn.encode_to_vec());
                    Ok(drawn)
                }
                .boxed()
            })
            .await?;
        Ok(TokenKey { id: row.id, secret: decode_digest("token key", &row.secret)? })
    }
}
