//! Handmade feeds in both forms, and invalid ones.

use super::{Product, Products};
use lapidary_store::Rights::{Free, Protected, PublicDomain, Unknown};

const REFERENCE: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<ONIXMessage release="3.0" xmlns="http://ns.editeur.org/onix/3.0/reference">
<Header><Sender><SenderName>Publisher &amp; Sons</SenderName></Sender></Header>
<Product><RecordReference>com.example.1</RecordReference><NotificationType>03</NotificationType>
<ProductIdentifier><ProductIDType>01</ProductIDType><IDTypeName>own</IDTypeName><IDValue>9780306406157</IDValue></ProductIdentifier>
<ProductIdentifier><ProductIDType>15</ProductIDType><IDValue>9780804429573</IDValue></ProductIdentifier>
<DescriptiveDetail>
<TitleDetail><TitleType>01</TitleType><TitleElement><TitleElementLevel>02</TitleElementLevel><TitleText>A Series</TitleText></TitleElement>
<TitleElement><TitleElementLevel>01</TitleElementLevel><TitleText>Gems &lt;and&gt; &#x421;tones</TitleText><Subtitle>A <![CDATA[<b>]]></Subtitle></TitleElement></TitleDetail>
<Contributor><ContributorRole>B06</ContributorRole><PersonName>T. Ranslator</PersonName></Contributor>
<Contributor><ContributorRole>A01</ContributorRole><NamesBeforeKey>Nikolai</NamesBeforeKey><KeyNames>Gogol</KeyNames></Contributor>
<Language><LanguageRole>02</LanguageRole><LanguageCode>eng</LanguageCode></Language>
<Language><LanguageRole>01</LanguageRole><LanguageCode>rus</LanguageCode></Language>
</DescriptiveDetail>
<PublishingDetail><PublishingStatus>04</PublishingStatus>
<PublishingDate><PublishingDateRole>01</PublishingDateRole><Date dateformat="00">20300131</Date></PublishingDate>
<PublishingDate><PublishingDateRole>11</PublishingDateRole><Date dateformat="05">1842</Date></PublishingDate>
<SalesRights><SalesRightsType>01</SalesRightsType><Territory><CountriesIncluded>DE AT</CountriesIncluded></Territory></SalesRights>
<SalesRights><SalesRightsType>06</SalesRightsType><Territory><RegionsIncluded>WORLD</RegionsIncluded><CountriesExcluded>DE AT RU</CountriesExcluded></Territory></SalesRights>
<ROWSalesRightsType>04</ROWSalesRightsType>
</PublishingDetail></Product>
</ONIXMessage>"#;

const SHORT: &str = r#"<!DOCTYPE ONIXmessage SYSTEM "http://www.editeur.org/onix/3.0/short/onix-international.dtd">
<ONIXmessage release="3.0"><header/>
<product><a001>1</a001><a002>03</a002><productidentifier><b221>02</b221><b244>0-8044-2957-X</b244></productidentifier>
<descriptivedetail><titledetail><b202>01</b202><titleelement><x409>01</x409><b030>The</b030><b031>Gems</b031></titleelement></titledetail>
<contributor><b035>A01</b035><b037>Gogol, Nikolai</b037></contributor>
<epublicense><x511>CC</x511><epublicenseexpression><x508>01</x508><x510>https://creativecommons.org/licenses/by/4.0/</x510></epublicenseexpression></epublicense>
</descriptivedetail>
<publishingdetail><publishingdate><x448>01</x448><b306>20300131T0900Z</b306></publishingdate></publishingdetail></product>
<product><a001>2</a001><a002>05</a002></product>
</ONIXmessage>"#;

fn products(feed: &str) -> Vec<Product> {
    Products::new(feed.as_bytes())
        .map(|product| product.expect("a product"))
        .collect()
}

fn error(feed: &str) -> String {
    let found: Vec<_> = Products::new(feed.as_bytes()).collect();
    let wrong = found.iter().find_map(|product| product.as_ref().err());
    assert!(
        found.last().is_some_and(Result::is_err),
        "nothing follows an error: {found:?}"
    );
    wrong.expect("an error").to_string()
}

#[test]
fn reference_names_and_short_tags() {
    let [product] = <[Product; 1]>::try_from(products(REFERENCE)).expect("one");
    assert_eq!(
        (product.id().as_str(), product.reference.as_str()),
        ("9780804429573", "com.example.1")
    );
    assert_eq!(
        product.description.title.as_deref(),
        Some("Gems <and> Сtones: A <b>")
    );
    assert_eq!(
        (
            product.description.authors.as_slice(),
            product.description.language.as_deref()
        ),
        (&["Nikolai Gogol".to_owned()][..], Some("ru"))
    );
    let published = |product: &Product| product.description.published.map(|date| date.to_string());
    assert_eq!(published(&product).as_deref(), Some("1842"));
    assert_eq!(product.rights(None), Some(Protected));
    for (territory, rights) in [("DE", Protected), ("FR", Unknown), ("RU", Protected)] {
        assert_eq!(
            product.rights(Some(&territory.parse().expect("a territory"))),
            Some(rights),
            "{territory}"
        );
    }

    let [short, deleted] = <[Product; 2]>::try_from(products(SHORT)).expect("two");
    assert_eq!(
        (short.id().as_str(), short.description.title.as_deref()),
        ("9780804429573", Some("The Gems"))
    );
    assert_eq!(
        (short.description.authors.as_slice(), short.rights(None)),
        (&["Gogol, Nikolai".to_owned()][..], Some(Free))
    );
    assert_eq!(
        (published(&short), published(&deleted)),
        (Some("2030-01-31".to_owned()), None)
    );
    assert!(deleted.deleted && !short.deleted);
    assert_eq!((deleted.id().as_str(), deleted.rights(None)), ("2", None));
}

#[test]
fn what_decides_rights() {
    let with = |inner: &str| {
        let feed = format!(
            "<ONIXMessage release=\"3.0\"><Product><RecordReference>1</RecordReference>{inner}</Product></ONIXMessage>"
        );
        products(&feed)[0].rights(None)
    };
    let sales = |kind: &str, status: &str| {
        with(&format!(
            "<PublishingDetail><PublishingStatus>{status}</PublishingStatus><SalesRights><SalesRightsType>{kind}\
             </SalesRightsType><Territory><RegionsIncluded>WORLD</RegionsIncluded></Territory></SalesRights></PublishingDetail>"
        ))
    };
    for kind in ["01", "02", "04", "05", "07", "08"] {
        assert_eq!(sales(kind, "04"), Some(Protected), "{kind}");
        assert_eq!(
            sales(kind, "11"),
            Some(Protected),
            "withdrawn from sale is as protected as before"
        );
        assert_eq!(sales(kind, "05"), Some(Unknown), "no longer our product");
    }
    for kind in ["00", "03", "06"] {
        assert_eq!(sales(kind, "04"), Some(Unknown), "{kind}");
    }
    let mark = "<DescriptiveDetail><EpubLicense><EpubLicenseExpression><EpubLicenseExpressionLink>\
                http://creativecommons.org/publicdomain/mark/1.0/</EpubLicenseExpressionLink></EpubLicenseExpression>\
                </EpubLicense></DescriptiveDetail>";
    assert_eq!(with(mark), Some(PublicDomain));
    assert_eq!(with(""), None);
}

/// A territory that cannot be interpreted never makes the rights in a protected book unknown.
#[test]
fn territories_are_read_strictly() {
    let table = [
        ("01 DE", "", "DE", Some(Protected)),
        ("01 DE", "", "FR", None),
        ("01 UK", "", "GB", Some(Protected)),
        ("01 UK", "00", "GB", Some(Protected)),
        ("03 UK", "01", "GB", Some(Protected)),
        ("03 GB, 01 UK", "", "GB", Some(Protected)),
        ("03 GB, 01 DE", "01", "GB", Some(Unknown)),
        ("03 GB, 01 ROW", "", "GB", Some(Unknown)),
        ("03 GB, 01 ROW", "", "DE", Some(Protected)),
    ];
    for (sales, rest, territory, expected) in table {
        let statements = sales.split(", ").map(|statement| {
            let (kind, codes) = statement.split_once(' ').expect("two words");
            format!(
                "<SalesRights><SalesRightsType>{kind}</SalesRightsType><Territory><CountriesIncluded>{codes}\
                 </CountriesIncluded></Territory></SalesRights>"
            )
        });
        let statements: String = statements.collect();
        let feed = format!(
            "<ONIXMessage release=\"3.0\"><Product><RecordReference>1</RecordReference><PublishingDetail>{statements}<ROWSalesRightsType>{rest}\
             </ROWSalesRightsType></PublishingDetail></Product></ONIXMessage>"
        );
        let rights = products(&feed)[0].rights(Some(&territory.parse().expect("a territory")));
        assert_eq!(rights, expected, "{sales:?}, else {rest:?}, in {territory}");
    }
}

#[test]
fn what_cannot_be_read_is_told_with_its_line() {
    let product = "<ONIXMessage release='3.1'>\n<Product>\n<RecordReference>1</RecordReference>\n";
    let table = [
        (format!("{product}</Prodct>"), "line 4: "),
        (
            format!("{product}<x>&copy;</x></Product></ONIXMessage>"),
            "line 4: the entity &copy; is unknown",
        ),
        (product.to_owned(), "the feed is truncated"),
        (
            "<ONIXMessage release='3.0'>\n\n<Product></Product></ONIXMessage>".to_owned(),
            "line 3: a product has no RecordReference",
        ),
        (
            "\n<html><body/></html>".to_owned(),
            "line 2: <html> instead of <ONIXMessage>",
        ),
        (
            "<ONIXMessage release='3.0'><Book/></ONIXMessage>".to_owned(),
            "<Book> instead of <Product>",
        ),
        (
            format!("{product}{}", "<a>".repeat(100)),
            "nested too deeply",
        ),
        (
            format!("{product}<a>{}</a>", "x".repeat(9 << 20)),
            "more than 8388608 bytes",
        ),
        (String::new(), "the feed is truncated"),
        ("no XML".to_owned(), "the feed is truncated"),
    ];
    for (feed, said) in table {
        let error = error(&feed);
        assert!(error.contains(said), "{said}: {error}");
    }
    let bomb = "<!DOCTYPE ONIXMessage [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\"><!ENTITY f SYSTEM \
                \"file:///etc/passwd\">]>\n\
                <ONIXMessage release='3.0'><Product><RecordReference>&f;</RecordReference></Product></ONIXMessage>";
    assert!(
        error(bomb).contains("line 2: the entity &f; is unknown"),
        "{}",
        error(bomb)
    );
}

/// Other releases name things otherwise: read as this one, they would say nothing of rights.
#[test]
fn only_releases_3_0_and_3_1_are_read() {
    let message = |attributes: &str| format!("<ONIXMessage {attributes}><Header/></ONIXMessage>");
    let namespace =
        |release: &str, form: &str| format!("xmlns='http://ns.editeur.org/onix/{release}/{form}'");
    let read = [
        message("release='3.0'"),
        message("release = \"3.1\""),
        message(&namespace("3.0", "reference")),
        message(&namespace("3.1", "short")),
        message(&format!("release='3.1' {}", namespace("3.1", "reference"))),
        "<ONIXmessage release='3.1'><header/></ONIXmessage>".to_owned(),
        "<o:ONIXMessage xmlns:o='http://ns.editeur.org/onix/3.0/reference'><o:Header/></o:ONIXMessage>".to_owned(),
    ];
    for feed in read {
        assert!(products(&feed).is_empty(), "{feed}");
    }
    let refused = [
        (message("release='2.1'"), "its release is \"2.1\""),
        (message("release='9.9'"), "its release is \"9.9\""),
        (message("release=''"), "its release is \"\""),
        (message("release='3'"), "its release is \"3\""),
        (message("release='3.0.1'"), "its release is \"3.0.1\""),
        (message(""), "it says no release"),
        (
            "<ONIXmessage><header/></ONIXmessage>".to_owned(),
            "it says no release",
        ),
        (
            message("xmlns='http://www.editeur.org/onix/2.1/reference'"),
            "onix/2.1/reference",
        ),
        (
            message("release='3.0' xmlns='http://www.editeur.org/onix/2.1/short'"),
            "onix/2.1/short",
        ),
        (
            message("xmlns='http://ns.editeur.org/onix/3.0'"),
            "its namespace is",
        ),
        (
            message("xmlns:o='http://ns.editeur.org/onix/3.0/reference'"),
            "it says no release",
        ),
        (message("release='3.0' release='2.1'"), "not well-formed"),
        (
            message(&format!("release='{}'", "9".repeat(10_000))),
            "only ONIX 3.0 and 3.1 can be read",
        ),
    ];
    for (feed, said) in refused {
        let error = error(&feed);
        assert!(
            error.contains(said) && error.starts_with("line 1: ") && error.len() < 400,
            "{said}: {error}"
        );
    }
}
