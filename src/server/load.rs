//! The memory that bodies take. What is beyond is refused with 503 at once, so that memory has an end.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::problem::{Problem, overloaded};

/// What bodies' memory is counted in, since permits are counted in 32 bits.
const UNIT: usize = 1 << 10;

/// What is going on.
pub(super) struct Load {
    bodies: Arc<Semaphore>,
}

/// Memory that a body has.
#[derive(Default)]
pub(super) struct Room(Option<OwnedSemaphorePermit>);

impl Load {
    /// So many bytes of bodies.
    pub(super) fn new(bodies: usize) -> Self {
        let units = (bodies / UNIT).clamp(1, Semaphore::MAX_PERMITS);
        Self { bodies: Arc::new(Semaphore::new(units)) }
    }

    /// Gives a body room for so many more bytes.
    ///
    /// # Errors
    /// When other bodies have it.
    pub(super) fn give(&self, room: &mut Room, bytes: usize) -> Result<(), Problem> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX);
        let detail = "the bodies of other requests take all the memory that is set aside for them; try again";
        let given = Arc::clone(&self.bodies).try_acquire_many_owned(units).map_err(|_| overloaded(detail))?;
        match &mut room.0 {
            Some(permit) => permit.merge(given),
            none => *none = Some(given),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Load, Room};

    #[test]
    fn memory_that_is_taken_is_refused_until_it_is_given_back() {
        let load = Load::new(10 << 10);
        let (mut a, mut b) = (Room::default(), Room::default());
        load.give(&mut a, 6 << 10).unwrap();
        load.give(&mut a, 1).unwrap();
        assert!(load.give(&mut b, 4 << 10).is_err());
        drop(a);
        load.give(&mut b, 10 << 10).unwrap();
    }
}
