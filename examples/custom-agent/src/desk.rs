//! The rooms and the tools that find and book them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use haft::tools::ToolEffect;
use haft::{Json, Tool, ToolArgs, ToolFailure};
use serde::{Deserialize, Serialize};

/// A room.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct Room {
    name: String,
    seats: u32,
    has: Vec<String>,
}

/// Equipment of a room. The schema allows no other values.
#[derive(Clone, Copy, Debug, ToolArgs)]
enum Equipment {
    /// A screen
    Screen,
    /// A board to write on
    Board,
    /// A phone for calls with others
    Phone,
}

impl Equipment {
    const fn name(self) -> &'static str {
        match self {
            Self::Screen => "screen",
            Self::Board => "board",
            Self::Phone => "phone",
        }
    }
}

#[derive(ToolArgs)]
struct Search {
    /// How many people come
    #[arg(min = 1, max = 100)]
    seats: u32,
    /// What the room has to have
    #[arg(default)]
    has: Vec<Equipment>,
}

#[derive(ToolArgs)]
struct Booking {
    /// The name of the room, as find_rooms returned it
    #[arg(min_len = 1)]
    room: String,
    /// The hour at which it begins
    #[arg(min = 7, max = 19)]
    hour: u8,
}

/// The rooms of a building and their bookings.
#[derive(Debug)]
pub(crate) struct Desk {
    rooms: Vec<Room>,
    booked: Mutex<BTreeSet<(String, u8)>>,
}

impl Desk {
    /// Parses the list of rooms.
    ///
    /// # Errors
    ///
    /// The text is not a JSON list of rooms.
    pub(crate) fn parse(rooms: &str) -> Result<Arc<Self>> {
        Ok(Arc::new(Self { rooms: serde_json::from_str(rooms)?, booked: Mutex::default() }))
    }

    /// Builds the tools of the model. The schema of each tool is generated from the type of its arguments.
    ///
    /// # Errors
    ///
    /// The definition of a tool is invalid.
    pub(crate) fn tools(self: &Arc<Self>) -> Result<Vec<Tool>> {
        let (search, book) = (Arc::clone(self), Arc::clone(self));
        let find_rooms = Tool::builder("find_rooms")
            .description(
                "Finds rooms that are large enough and have what is needed, smallest first.",
            )
            .effect(ToolEffect::ReadOnly)
            .handler(move |args: Search| Json(search.fitting_rooms(&args)))
            .build()?;
        let book_room = Tool::builder("book_room")
            .description("Books a room for an hour. Fails if it is taken.")
            .requires_approval("May this room be booked?")
            .handler(move |args: Booking| book.book_room(args))
            .build()?;
        Ok(vec![find_rooms, book_room])
    }

    fn fitting_rooms(&self, args: &Search) -> Vec<Room> {
        let fits = |room: &&Room| {
            let has = |it: &Equipment| room.has.iter().any(|name| name == it.name());
            room.seats >= args.seats && args.has.iter().all(has)
        };
        let mut rooms: Vec<Room> = self.rooms.iter().filter(fits).cloned().collect();
        rooms.sort_by_key(|room| room.seats);
        rooms
    }

    fn book_room(&self, args: Booking) -> Result<String, ToolFailure> {
        let Booking { room, hour } = args;
        if !self.rooms.iter().any(|it| it.name == room) {
            // The model reads this message, so it says what to do next.
            let what =
                format!("there is no room `{room}`; find_rooms returns those that there are");
            return Err(ToolFailure::new(what));
        }
        let mut booked = self.booked.lock().unwrap_or_else(PoisonError::into_inner);
        if !booked.insert((room.clone(), hour)) {
            return Err(ToolFailure::new(format!("{room} is taken at {hour}; try another hour")));
        }
        Ok(format!("{room} is booked from {hour}:00 to {}:00", hour + 1))
    }
}
