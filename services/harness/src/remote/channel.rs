//! A connection on which a harness is described and then run.

use std::error::Error;
use std::iter::successors;

use async_trait::async_trait;
use controller::ports::{
    DescribeError, HarnessChannel, HarnessConnection, HarnessFailure, HarnessUnavailable, TurnStart,
};
use tonic::{Code, Status};
use wire::harness_client::HarnessClient;
use wire::{DescribeRequest, HarnessDescriptor};

use super::connection::{Connection, MessageLimit};
use super::pool::Place;

type Client = HarnessClient<tonic::transport::Channel>;

pub(super) struct Channel {
    place: Place,
}

impl Channel {
    pub(super) fn new(place: Place) -> Self {
        Self { place }
    }

    fn client(&self) -> Client {
        let limit = self.place.options().max_message_bytes;
        Client::new(self.place.channel()).max_decoding_message_size(limit).max_encoding_message_size(limit)
    }

    async fn ask(&mut self) -> Result<HarnessDescriptor, DescribeError> {
        match self.client().describe(DescribeRequest {}).await {
            Ok(descriptor) => {
                self.place.answered();
                Ok(descriptor.into_inner())
            }
            Err(status) if is_unreachable(&status) => Err(HarnessUnavailable(explain(&status)).into()),
            Err(status) => Err(DescribeError::Refused(explain(&status))),
        }
    }
}

#[async_trait]
impl HarnessChannel for Channel {
    async fn describe(&mut self) -> Result<HarnessDescriptor, DescribeError> {
        let answer = self.ask().await;
        if let Err(DescribeError::Unavailable(_)) = answer
            && let Some(place) = self.place.anew().await?
        {
            self.place = place;
            return self.ask().await;
        }
        answer
    }

    async fn connect(self: Box<Self>, turn: TurnStart) -> Result<Box<dyn HarnessConnection>, HarnessFailure> {
        let limit = MessageLimit(self.place.options().max_message_bytes);
        Ok(Box::new(Connection::open(self.place.channel(), self.place, limit, turn)?))
    }
}

/// Whether nobody answered. A status that was made here, because the connection broke, has a source; one that came from
/// the peer has none.
fn is_unreachable(status: &Status) -> bool {
    status.code() == Code::Unavailable || status.source().is_some()
}

/// Longest text that is taken over from a harness.
const MAX_TEXT: usize = 1024;

/// The code and the message of a status, cut to a bearable length, and what is at the bottom of a broken connection.
pub(crate) fn explain(status: &Status) -> String {
    let message = status.message();
    let message = &message[..message.floor_char_boundary(MAX_TEXT)];
    match successors(status.source(), |&error| error.source()).last() {
        Some(cause) => format!("{:?}: {message}: {cause}", status.code()),
        None => format!("{:?}: {message}", status.code()),
    }
}
