//! The rooms and the tools that find and book them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, ensure};
use haft::tools::ToolBuilder;
use haft::{Json, State, ToolArgs, tool};
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
    pub(crate) fn tools(self: &Arc<Self>) -> [ToolBuilder; 2] {
        [find_rooms(Arc::clone(self)), book_room(Arc::clone(self))]
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

    fn book(&self, args: Booking) -> Result<String> {
        let Booking { room, hour } = args;
        // The model reads these messages, so they say what to do next.
        ensure!(
            self.rooms.iter().any(|it| it.name == room),
            "there is no room `{room}`; find_rooms returns those that there are"
        );
        let mut booked = self.booked.lock().unwrap_or_else(PoisonError::into_inner);
        ensure!(booked.insert((room.clone(), hour)), "{room} is taken at {hour}; try another hour");
        Ok(format!("{room} is booked from {hour}:00 to {}:00", hour + 1))
    }
}

/// Finds rooms that are large enough and have what is needed, smallest first.
#[tool(read_only)]
async fn find_rooms(args: Search, State(desk): State<Arc<Desk>>) -> Json<Vec<Room>> {
    Json(desk.fitting_rooms(&args))
}

/// Books a room for an hour. Fails if it is taken.
#[tool(requires_approval = "May this room be booked?")]
async fn book_room(args: Booking, State(desk): State<Arc<Desk>>) -> Result<String> {
    desk.book(args)
}
