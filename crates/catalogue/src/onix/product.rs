//! Converts an ONIX product to Lapidary's terms.

use jiff::civil::Date;

use super::OnixElement;
use super::territory::{Area, Holds, Territory};
use lapidary_common::description::{Description, PartialDate};
use lapidary_common::isbn::Isbn;
use lapidary_store::{Rights, Validity};

/// A product of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Product {
    /// The sender's own name of the record.
    pub reference: String,
    /// Its ISBNs, including ISBN-10 and GTIN-13; several if a record repeats a form.
    pub isbns: Vec<Isbn>,
    /// Invalid ISBNs: most often the check digit is wrong.
    pub bad_isbns: Vec<String>,
    /// The title with its subtitle, the authors, the language of the text (a BCP 47 tag, or the ISO 639-2/B code of a
    /// rarer one), and its ISBNs.
    pub description: Description,
    /// Whether the record asks for its own deletion.
    pub deleted: bool,
    /// Whether the record says only what changed.
    pub is_partial: bool,
    licence: Option<Licence>,
    /// The publishing status (list 64).
    status: Option<String>,
    sales: Vec<Sales>,
    /// The sales rights of the rest of the world (list 46).
    rest: Option<String>,
}

/// A licence that lets everybody publish a book, and its days.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Licence {
    rights: Rights,
    from: Option<Date>,
    until: Option<Date>,
}

/// Sales rights and where they apply.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sales {
    /// List 46.
    kind: String,
    area: Area,
}

impl Product {
    pub(super) fn read(product: &OnixElement) -> Result<Self, String> {
        let reference = product
            .text("RecordReference")
            .ok_or("a product has no RecordReference")?
            .to_owned();
        let (isbns, bad_isbns) = isbns(product);
        let none = OnixElement::default();
        let described = product.first("DescriptiveDetail").unwrap_or(&none);
        let published = product.first("PublishingDetail").unwrap_or(&none);
        Ok(Self {
            reference,
            description: Description {
                title: title(described),
                authors: authors(described),
                language: language(described),
                identifiers: isbns.iter().map(ToString::to_string).collect(),
                published: publication(published),
            },
            isbns,
            bad_isbns,
            // List 1.
            deleted: product.text("NotificationType") == Some("05"),
            is_partial: product.text("NotificationType") == Some("04"),
            licence: licence(described),
            status: published.text("PublishingStatus").map(str::to_owned),
            sales: published
                .all("SalesRights")
                .filter_map(Sales::read)
                .collect(),
            rest: published.text("ROWSalesRightsType").map(str::to_owned),
        })
    }

    /// The book's id: its ISBN, or the name of its record.
    #[must_use]
    pub fn id(&self) -> String {
        self.isbns
            .first()
            .map_or_else(|| self.reference.clone(), ToString::to_string)
    }

    /// The rights in the book in a territory, or anywhere if none is given; `None` if the record does not say. If it
    /// is unclear whether a statement applies there, the strictest interpretation counts.
    #[must_use]
    pub fn rights(&self, territory: Option<&Territory>) -> Option<Rights> {
        if let Some(licence) = &self.licence {
            return Some(licence.rights);
        }
        self.rights_without_licence(territory)
    }

    /// The days on which these rights are in effect: all, unless a licence has dates. On all others, those of the territory
    /// are, or `protected`. `None` if the record says no rights.
    #[must_use]
    pub fn validity(&self, territory: Option<&Territory>) -> Option<Validity> {
        self.rights(territory)?;
        let (from, until) = self
            .licence
            .as_ref()
            .map_or((None, None), |licence| (licence.from, licence.until));
        let otherwise = self.rights_without_licence(territory);
        Some(Validity {
            from,
            until,
            otherwise: otherwise.unwrap_or(Rights::Protected),
        })
    }

    fn rights_without_licence(&self, territory: Option<&Territory>) -> Option<Rights> {
        // List 64: cancelled, no longer our product.
        if matches!(self.status.as_deref(), Some("01" | "05")) {
            return Some(Rights::Unknown);
        }
        let kinds: Vec<&str> = match territory {
            None => self
                .sales
                .iter()
                .map(|sales| sales.kind.as_str())
                .chain(self.rest.as_deref())
                .collect(),
            Some(territory) => {
                let that = |holds: Holds| {
                    let holding = self
                        .sales
                        .iter()
                        .filter(move |sales| sales.area.holds(territory) == holds);
                    holding.map(|sales| sales.kind.as_str())
                };
                let mut kinds: Vec<&str> = that(Holds::Yes).collect();
                if kinds.is_empty() {
                    kinds.extend(that(Holds::AsRest).chain(self.rest.as_deref()));
                }
                kinds.extend(that(Holds::Perhaps));
                kinds
            }
        };
        kinds.into_iter().map(of_sales).min()
    }

    /// The territory codes that are on no list; they are treated as any territory.
    #[must_use]
    pub fn unknown_territories(&self) -> Vec<&str> {
        let mut unknown: Vec<&str> = self
            .sales
            .iter()
            .flat_map(|sales| sales.area.unknown())
            .collect();
        unknown.sort_unstable();
        unknown.dedup();
        unknown
    }
}

/// List 46. If the publisher holds rights, the book is protected, whether it is sold there or not.
fn of_sales(kind: &str) -> Rights {
    match kind {
        "01" | "02" | "04" | "05" | "07" | "08" => Rights::Protected,
        _ => Rights::Unknown,
    }
}

impl Sales {
    fn read(sales: &OnixElement) -> Option<Self> {
        let kind = sales.text("SalesRightsType")?.to_owned();
        let none = OnixElement::default();
        let territory = sales.first("Territory").unwrap_or(&none);
        let included = words_of(territory, ["CountriesIncluded", "RegionsIncluded"]);
        let excluded = words_of(territory, ["CountriesExcluded", "RegionsExcluded"]);
        Some(Self {
            kind,
            area: Area { included, excluded },
        })
    }
}

fn words_of(territory: &OnixElement, names: [&str; 2]) -> Vec<String> {
    let texts = names.into_iter().filter_map(|name| territory.text(name));
    texts
        .flat_map(str::split_whitespace)
        .map(str::to_owned)
        .collect()
}

/// The distinctive title (list 15: 01) of the product itself (list 149: 01).
fn title(described: &OnixElement) -> Option<String> {
    let detail = main_child(described, "TitleDetail", "TitleType")?;
    let element = main_child(detail, "TitleElement", "TitleElementLevel")?;
    let title = match (
        element.text("TitleText"),
        element.text("TitlePrefix"),
        element.text("TitleWithoutPrefix"),
    ) {
        (Some(title), ..) => title.to_owned(),
        (None, Some(prefix), Some(rest)) => format!("{prefix} {rest}"),
        (None, _, rest) => rest?.to_owned(),
    };
    Some(match element.text("Subtitle") {
        Some(subtitle) => format!("{title}: {subtitle}"),
        None => title,
    })
}

/// The child of this name whose code is 01, or else the first.
fn main_child<'a>(parent: &'a OnixElement, name: &'a str, code: &str) -> Option<&'a OnixElement> {
    let mut children = parent.all(name);
    children
        .find(|child| child.text(code) == Some("01"))
        .or_else(|| parent.first(name))
}

/// The writers (list 17: codes that begin with A0, such as A01 author), or if there are none, all contributors.
fn authors(described: &OnixElement) -> Vec<String> {
    let contributors = || described.all("Contributor");
    let writers = contributors().filter(|one| {
        let mut roles = one.all("ContributorRole");
        roles.any(|role| role.text.trim().starts_with("A0"))
    });
    let writers: Vec<String> = writers.filter_map(name).collect();
    if writers.is_empty() {
        contributors().filter_map(name).collect()
    } else {
        writers
    }
}

fn name(contributor: &OnixElement) -> Option<String> {
    if let Some(name) = contributor
        .text("PersonName")
        .or_else(|| contributor.text("CorporateName"))
    {
        return Some(name.to_owned());
    }
    match (
        contributor.text("NamesBeforeKey"),
        contributor.text("KeyNames"),
    ) {
        (Some(before), Some(key)) => Some(format!("{before} {key}")),
        (None, Some(key)) => Some(key.to_owned()),
        _ => contributor.text("PersonNameInverted").map(str::to_owned),
    }
}

/// The language of the text (list 22: 01).
fn language(described: &OnixElement) -> Option<String> {
    let of_text = described
        .all("Language")
        .find(|language| language.text("LanguageRole") == Some("01"))?;
    of_text.text("LanguageCode").map(bcp47)
}

/// When the work was first published, or else this product (list 163: 11, 01).
fn publication(published: &OnixElement) -> Option<PartialDate> {
    ["11", "01"].iter().find_map(|role| {
        let date = published
            .all("PublishingDate")
            .find(|date| date.text("PublishingDateRole") == Some(role))?;
        // A time may follow the day.
        let digits = date.text("Date")?.split('T').next()?;
        let parts = [digits.get(..4), digits.get(4..6), digits.get(6..)]
            .map(|part| part.filter(|part| !part.is_empty()));
        parts
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("-")
            .parse()
            .ok()
    })
}

/// Converts a code of list 74 (ISO 639-2/B) to a BCP 47 tag; unknown codes are returned unchanged.
fn bcp47(code: &str) -> String {
    #[rustfmt::skip]
    const TAGS: [(&str, &str); 32] = [
        ("ara", "ar"), ("arm", "hy"), ("bel", "be"), ("bul", "bg"), ("chi", "zh"), ("cze", "cs"), ("dan", "da"),
        ("dut", "nl"), ("eng", "en"), ("est", "et"), ("fin", "fi"), ("fre", "fr"), ("geo", "ka"), ("ger", "de"),
        ("gre", "el"), ("heb", "he"), ("hun", "hu"), ("ita", "it"), ("jpn", "ja"), ("kaz", "kk"), ("kor", "ko"),
        ("lav", "lv"), ("lit", "lt"), ("pol", "pl"), ("por", "pt"), ("rum", "ro"), ("rus", "ru"), ("slo", "sk"),
        ("spa", "es"), ("swe", "sv"), ("tur", "tr"), ("ukr", "uk"),
    ];
    TAGS.iter()
        .find(|(of_onix, _)| *of_onix == code)
        .map_or(code, |(_, tag)| tag)
        .to_owned()
}

/// The first Creative Commons licence or mark. One whose days cannot be read lets nobody do anything.
fn licence(described: &OnixElement) -> Option<Licence> {
    let mut licences = described.all("EpubLicense");
    licences.find_map(|licence| {
        let mut expressions = licence.all("EpubLicenseExpression");
        let rights = expressions.find_map(|expression| {
            let link = expression.text("EpubLicenseExpressionLink")?;
            let of_link = [
                ("creativecommons.org/publicdomain/", Rights::PublicDomain),
                ("creativecommons.org/licenses/", Rights::Free),
            ];
            let known = of_link.into_iter().find(|(part, _)| link.contains(part));
            known.map(|(_, rights)| rights)
        })?;
        let (from, until) = days_of_licence(licence)?;
        Some(Licence {
            rights,
            from,
            until,
        })
    })
}

/// The first and last day of a licence; `None` if one cannot be read.
fn days_of_licence(licence: &OnixElement) -> Option<(Option<Date>, Option<Date>)> {
    let (mut from, mut until) = (None, None);
    for date in licence.all("EpubLicenseDate") {
        let digits = date.text("Date")?;
        // List 260.
        match date.text("EpubLicenseDateRole")? {
            "14" => from = Some(day(digits)?),
            "15" => until = Some(day(digits)?),
            "24" => {
                let (first, last) = digits.split_at_checked(8)?;
                (from, until) = (Some(day(first)?), Some(day(last)?));
            }
            _ => {}
        }
    }
    Some((from, until))
}

/// A day in digits. A time may follow.
fn day(digits: &str) -> Option<Date> {
    Date::strptime("%Y%m%d", digits.split('T').next()?).ok()
}

/// The ISBNs of a product, in order, and what should be one and is not.
fn isbns(product: &OnixElement) -> (Vec<Isbn>, Vec<String>) {
    let ids = product.all("ProductIdentifier").filter_map(|id| {
        // List 5: 02 ISBN-10, 03 GTIN-13, 15 ISBN-13.
        let kind = id
            .text("ProductIDType")
            .filter(|kind| ["02", "03", "15"].contains(kind))?;
        Some((kind, id.text("IDValue")?))
    });
    let (mut isbns, mut bad_isbns) = (Vec::new(), Vec::new());
    for (kind, written) in ids {
        match Isbn::parse(written) {
            Some(isbn) => isbns.push(isbn),
            // Not every GTIN-13 is an ISBN.
            None if kind != "03" || written.starts_with("978") || written.starts_with("979") => {
                bad_isbns.push(written.to_owned());
            }
            None => {}
        }
    }
    isbns.sort_unstable();
    isbns.dedup();
    (isbns, bad_isbns)
}
