//! The books of the demo: their authors, rights and subjects.

use lapidary_store::Rights;

use super::story::{Story, Teller};

/// A book to generate.
pub struct StorySetting {
    /// Its id in the library.
    pub id: &'static str,
    /// The title.
    pub title: &'static str,
    /// The author, or several separated by commas.
    pub author: &'static str,
    /// The rights in it.
    pub rights: Rights,
    /// Its language.
    pub language: &'static StoryLanguage,
    seed: u64,
    heroes: &'static [&'static str],
    heroines: &'static [&'static str],
    places: &'static [&'static str],
    treasures: &'static [&'static str],
}

/// The language of a book.
pub struct StoryLanguage {
    /// A BCP 47 tag.
    pub tag: &'static str,
    vocabulary: &'static str,
}

static ENGLISH: StoryLanguage = StoryLanguage {
    tag: "en",
    vocabulary: include_str!("../../data/demo/english.txt"),
};
/// That of a book without a passage of the others.
static THEATRE: StoryLanguage = StoryLanguage {
    tag: "en",
    vocabulary: include_str!("../../data/demo/theatre.txt"),
};
static RUSSIAN: StoryLanguage = StoryLanguage {
    tag: "ru",
    vocabulary: include_str!("../../data/demo/russian.txt"),
};

impl StorySetting {
    /// A text generator for this setting. Different seeds give different texts.
    pub(super) fn teller(&self, seed: u64) -> Teller<'static> {
        let mut teller = Teller::new(self.language.vocabulary, self.seed ^ seed);
        teller.learn("hero", self.heroes);
        teller.learn("heroine", self.heroines);
        teller.learn("place", self.places);
        teller.learn("treasure", self.treasures);
        teller
    }

    /// Generates the book, the same every time.
    pub(super) fn story(&self) -> Story {
        self.teller(0).tell(self.title, self.author)
    }
}

/// The book to copy: the first of the [`SHELF`].
pub static VICTIM: &StorySetting = &SHELF[0];

/// The books of the catalogue.
pub static SHELF: [StorySetting; 6] = [
    StorySetting {
        id: "lighthouse",
        title: "The Lighthouse That Collected Umbrellas",
        author: "Wilhelmina Quickfeather",
        rights: Rights::Protected,
        language: &ENGLISH,
        seed: 1,
        heroes: &[
            "Barnaby Thistlewick",
            "the keeper Barnaby",
            "old Thistlewick",
        ],
        heroines: &["Cordelia Marsh", "Captain Marsh", "Cordelia"],
        places: &[
            "in Gullhaven",
            "on the Spoonbill Rocks",
            "along the Herring Stairs",
            "at Saltpetre Point",
        ],
        treasures: &[
            "the seven-hundredth umbrella",
            "the lamp of Saint Elspeth",
            "the borrowed foghorn",
        ],
    },
    StorySetting {
        id: "thunder",
        title: "A Practical Guide to Borrowed Thunder",
        author: "Septimus Oglethorpe-Vane",
        rights: Rights::Free,
        language: &ENGLISH,
        seed: 2,
        heroes: &["Professor Peregrine Ashdown", "young Leopold", "Peregrine"],
        heroines: &["Aunt Philomena", "Miss Araminta Bell", "Philomena"],
        places: &[
            "in Upper Tempest",
            "on Barometer Hill",
            "at the Rainmakers' Fair",
            "in Gutterby",
        ],
        treasures: &[
            "the Sunday thunder",
            "a receipt for lightning",
            "the unpaid hailstorm",
        ],
    },
    StorySetting {
        id: "marmalade",
        title: "The Cartographer's Marmalade",
        author: "Philippa Underhallow",
        rights: Rights::PublicDomain,
        language: &ENGLISH,
        seed: 3,
        heroes: &["Ignatius Plumb", "the elder Plumb", "Monsieur Delacroix"],
        heroines: &["Henrietta Oakapple", "Madame Zephyrine", "Henrietta"],
        places: &[
            "in Quincebury",
            "on the Isle of Peel",
            "beyond the Blank Margin",
            "in Lower Preserve",
        ],
        treasures: &[
            "the map of breakfast",
            "the bitter orange of Peel",
            "an unfinished coastline",
        ],
    },
    StorySetting {
        id: "trains",
        title: "Eleven Trains to Nowhere in Particular",
        author: "Rosalind Featherstonehaugh, Ambrose Tickle",
        rights: Rights::Protected,
        language: &ENGLISH,
        seed: 4,
        heroes: &[
            "Inspector Nightingale",
            "the porter Gabriel",
            "Mortimer Crane",
        ],
        heroines: &["Lady Octavia", "the stowaway Josephine", "Josephine Crane"],
        places: &[
            "at Nowhere Junction",
            "on platform eleven",
            "between Yesterwick and Morrowby",
            "in the dining car",
        ],
        treasures: &[
            "the return ticket",
            "the trunk marked Particular",
            "the stationmaster's secret",
        ],
    },
    StorySetting {
        id: "понедельники",
        title: "Хранитель запасных понедельников",
        author: "Аркадий Перезвонов",
        rights: Rights::Protected,
        language: &RUSSIAN,
        seed: 5,
        heroes: &["Аполлинарий Сверчков", "хранитель Сверчков", "Иннокентий"],
        heroines: &["Серафима Львовна", "тётушка Серафима", "Евдокия Громова"],
        places: &[
            "в Нижнем Перезвонье",
            "на Календарной улице",
            "в переулке Потерянных Минут",
        ],
        treasures: &[
            "запасная среда",
            "ключница понедельников",
            "серебряная секундная стрелка",
        ],
    },
    StorySetting {
        id: "телеграммы",
        title: "Оранжерея забытых телеграмм",
        author: "Клементина Облакова",
        rights: Rights::PublicDomain,
        language: &RUSSIAN,
        seed: 6,
        heroes: &[
            "почтальон Вольдемар",
            "Вольдемар Незабудкин",
            "доктор Фиалков",
        ],
        heroines: &[
            "садовница Глафира",
            "Глафира Одуванчикова",
            "барышня Эсмеральда",
        ],
        places: &[
            "в Старых Почтарях",
            "за Стеклянной заставой",
            "в Телеграфном саду",
        ],
        treasures: &["молния без подписи", "цветущая телеграмма", "голубая лейка"],
    },
];

/// The book that is not in the catalogue.
pub static STRANGER: StorySetting = StorySetting {
    id: "understudy",
    title: "The Understudy of the Weathervane",
    author: "Theodora Pennywhistle",
    rights: Rights::Unknown,
    language: &THEATRE,
    seed: 7,
    heroes: &["Lysander Vole", "the understudy", "Sir Humphrey"],
    heroines: &[
        "Dame Perpetua",
        "Clementine Rook",
        "the prompter Clementine",
    ],
    places: &[
        "in Curtain Regis",
        "on the Painted Coast",
        "at the Theatre of Winds",
    ],
    treasures: &[
        "the gilded cockerel",
        "the forgotten prologue",
        "the north wind's costume",
    ],
};

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::{SHELF, STRANGER};
    use lapidary_gems::Recipe;

    #[test]
    fn no_two_books_have_a_gem_in_common() {
        let recipe = Recipe::documented();
        let mut owner = HashMap::new();
        for setting in SHELF.iter().chain([&STRANGER]) {
            let text = setting.text();
            let gems = recipe.gems(&text);
            assert!(gems.len() >= 10, "{}: {} gems", setting.id, gems.len());
            for gem in gems {
                let other = owner.insert(gem.gem, setting.id);
                assert_eq!(other, None, "{} has a gem of it", setting.id);
            }
        }
    }

    #[test]
    fn books_are_whole_and_of_a_book_s_length() {
        for setting in SHELF.iter().chain([&STRANGER]) {
            let text = setting.text();
            assert!(
                !text.contains(['{', '}', '…']),
                "{}: a word is missing or was cut off",
                setting.id
            );
            let length = text.chars().count();
            assert!(
                (60_000..=150_000).contains(&length),
                "{}: {length} characters",
                setting.id
            );
            assert_eq!(
                text,
                setting.text(),
                "{}: told twice, it is the same",
                setting.id
            );
        }
    }
}
