//! Tables of metadata: what they would change, and what they do.

use std::io::{Cursor, Write as _};

use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::running::{Answer, JSON, Running};
use crate::common::prose;

/// The answers to a table, and to the files with it.
fn import(server: &Running, query: &str, files: &[(&str, &[u8])]) -> Vec<Value> {
    send(server, query, files).lines()
}

fn send(server: &Running, query: &str, files: &[(&str, &[u8])]) -> Answer {
    let mut form = Vec::new();
    for (name, content) in files {
        let head = format!(
            "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n"
        );
        form.extend_from_slice(&[head.as_bytes(), content, b"\r\n"].concat());
    }
    form.extend_from_slice(b"--x--\r\n");
    let path = format!("/v1/libraries/house/table?{query}");
    server.post(&path, "multipart/form-data; boundary=x", form)
}

/// The line, the book and the outcome of each row.
fn outcomes(answers: &[Value]) -> Vec<(u64, &str, &str)> {
    answers
        .iter()
        .map(|answer| {
            let id = answer["id"].as_str().unwrap_or_default();
            let outcome = answer["outcome"].as_str().unwrap_or_default();
            (answer["line"].as_u64().unwrap(), id, outcome)
        })
        .collect()
}

/// A server with two books.
fn library() -> Running {
    let server = Running::start();
    for (id, title) in [("1", "Old"), ("2", "Same")] {
        let book = json!({ "rights": "protected", "title": title, "text": prose(1, 2_000), "keep_text": true });
        let path = format!("/v1/libraries/house/books/{id}?keep_text=true");
        server.put(&path, JSON, book.to_string()).expect(201);
    }
    server
}

fn record(server: &Running, id: &str) -> Value {
    server
        .get(&format!("/v1/libraries/house/books/{id}"))
        .expect(200)
}

#[test]
fn a_table_says_what_it_would_change_and_then_does() {
    let server = library();
    let table = "id;title;authors;rights;until;file\n\
                 1;Новое;А. Б.; ;31.12.2027;\n\
                 2;Same;;;;\n\
                 3;Third;;free;;\n\
                 ;Fourth;;;;shelf/four.txt\n\
                 5;;;mine;;\n\
                 1;Again;;;;\n";
    let four = prose(4, 2_000);
    let files: [(&str, &[u8]); 3] = [
        ("t.csv", table.as_bytes()),
        ("four.txt", four.as_bytes()),
        ("spare.txt", b"spare"),
    ];
    let expected = [
        (2, "1", "changed"),
        (3, "2", "unchanged"),
        (4, "3", "missing"),
        (5, "four", "added"),
        (6, "", "refused"),
        (7, "1", "refused"),
        (0, "", "refused"),
    ];
    let before = record(&server, "1");
    let would = import(&server, "rights=protected&dry_run=true", &files);
    assert_eq!(outcomes(&would), expected);
    assert_eq!(
        would[0]["changes"],
        json!([
            { "field": "title", "before": "Old", "after": "Новое" },
            { "field": "authors", "before": "", "after": "А. Б." },
            { "field": "until", "before": "", "after": "2027-12-31" },
            { "field": "otherwise", "before": "", "after": "unknown" },
        ])
    );
    let why = |at: usize| would[at]["problem"]["detail"].as_str().unwrap();
    assert!(why(4).contains("'mine' is not one of"), "{}", why(4));
    assert!(why(5).contains("already in line 2"), "{}", why(5));
    assert!(why(6).contains("no row of the table"), "{}", why(6));
    assert_eq!(would[6]["file"], "spare.txt");
    assert_eq!(record(&server, "1"), before, "nothing was changed");
    server
        .get("/v1/libraries/house/books/four")
        .problem(404, "no_such_book", "four");

    let did = import(&server, "rights=protected&keep_text=true", &files);
    assert_eq!(outcomes(&did), expected);
    let after = record(&server, "1");
    assert_eq!(
        (
            &after["title"],
            &after["rights"],
            &after["standing"]["validity"]["until"]
        ),
        (&json!("Новое"), &json!("protected"), &json!("2027-12-31"))
    );
    assert_eq!(after["digest"], before["digest"]);
    let added = record(&server, "four");
    assert_eq!(
        (&added["title"], &added["rights"], &added["text_kept"]),
        (&json!("Fourth"), &json!("protected"), &json!(true))
    );
    // Each change is in the audit log.
    let log = server.get("/v1/audit?library=house&book=1").expect(200);
    let log = log.to_string();
    assert!(log.contains("[\"validity\",\"described\"]"), "{log}");

    // The rows of an answer are the same table again.
    let rows: Vec<String> = would
        .iter()
        .filter(|answer| answer["row"].is_object())
        .map(|answer| answer["row"].to_string())
        .collect();
    assert_eq!(rows.len(), 4);
    let again = import(
        &server,
        "",
        &[("", rows.join("\r\n").as_bytes()), ("", b"")],
    );
    assert_eq!(
        outcomes(&again),
        [
            (1, "1", "unchanged"),
            (2, "2", "unchanged"),
            (3, "3", "missing"),
            (4, "four", "unchanged"),
        ]
    );
    // A file replaces a book, and what the row does not say stays.
    let other = prose(5, 2_000);
    let replaced = import(&server, "", &[("t", b"id\n1"), ("1.txt", other.as_bytes())]);
    assert_eq!(outcomes(&replaced), [(2, "1", "replaced")]);
    let replaced = record(&server, "1");
    assert_eq!(
        (&replaced["title"], &replaced["standing"]["validity"]),
        (&after["title"], &after["standing"]["validity"])
    );
    assert_ne!(replaced["digest"], before["digest"]);
}

#[test]
fn workbooks_and_feeds_are_tables() {
    let server = library();
    let sheet = "<worksheet><sheetData><row><c t=\"inlineStr\"><is><t>id</t></is></c>\
                 <c t=\"inlineStr\"><is><t>until</t></is></c></row><row><c><v>1</v></c><c><v>46752</v></c></row>\
                 </sheetData></worksheet>";
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    zip.start_file("xl/worksheets/sheet1.xml", SimpleFileOptions::default())
        .unwrap();
    zip.write_all(sheet.as_bytes()).unwrap();
    let workbook = zip.finish().unwrap().into_inner();
    let answers = import(&server, "", &[("t.xlsx", &workbook)]);
    assert_eq!(outcomes(&answers), [(2, "1", "changed")]);
    assert_eq!(
        record(&server, "1")["standing"]["validity"]["until"],
        "2027-12-31"
    );

    let product = |isbn: &str, title: &str, kind: &str| {
        format!(
            "<Product><RecordReference>r{isbn}</RecordReference><NotificationType>{kind}</NotificationType>\
             <ProductIdentifier><ProductIDType>15</ProductIDType><IDValue>{isbn}</IDValue></ProductIdentifier>\
             <DescriptiveDetail><TitleDetail><TitleType>01</TitleType><TitleElement><TitleElementLevel>01</TitleElementLevel>\
             <TitleText>{title}</TitleText></TitleElement></TitleDetail></DescriptiveDetail></Product>"
        )
    };
    let feed = format!(
        "<?xml version=\"1.0\"?><ONIXMessage release=\"3.0\">{}{}</ONIXMessage>",
        product("9780306406157", "Emma", "03"),
        product("9785171183622", "Gone", "05"),
    );
    let book = prose(7, 2_000);
    let files: [(&str, &[u8]); 2] = [
        ("feed.xml", feed.as_bytes()),
        ("0-306-40615-2 emma.txt", book.as_bytes()),
    ];
    let answers = import(&server, "rights=free", &files);
    assert_eq!(
        outcomes(&answers),
        [
            (1, "9780306406157", "added"),
            (2, "9785171183622", "missing")
        ]
    );
    assert_eq!(record(&server, "9780306406157")["title"], "Emma");
}

/// A feed changes what it says, and takes back what it took away. What others disabled stays so.
#[test]
fn a_feed_disables_books_and_sets_their_days() {
    let server = library();
    let id = "9780306406157";
    let path = format!("/v1/libraries/house/books/{id}");
    server
        .put_text(&path, "protected", &prose(9, 2_000))
        .expect(201);
    let feed = |kind: &str, detail: &str| {
        format!(
            "<?xml version=\"1.0\"?><ONIXMessage release=\"3.1\"><Product><RecordReference>r</RecordReference>\
             <NotificationType>{kind}</NotificationType><ProductIdentifier><ProductIDType>15</ProductIDType>\
             <IDValue>{id}</IDValue></ProductIdentifier>{detail}</Product></ONIXMessage>"
        )
    };
    let licence = "<DescriptiveDetail><EpubLicense><EpubLicenseExpression><EpubLicenseExpressionLink>\
                   https://creativecommons.org/licenses/by/4.0/</EpubLicenseExpressionLink></EpubLicenseExpression>\
                   <EpubLicenseDate><EpubLicenseDateRole>14</EpubLicenseDateRole><Date>20300101</Date></EpubLicenseDate>\
                   </EpubLicense></DescriptiveDetail>";
    let sales = "<PublishingDetail><SalesRights><SalesRightsType>06</SalesRightsType><Territory><CountriesIncluded>FR\
                 </CountriesIncluded></Territory></SalesRights><SalesRights><SalesRightsType>01</SalesRightsType><Territory>\
                 <CountriesIncluded>DE</CountriesIncluded></Territory></SalesRights></PublishingDetail>";
    let send = |query: &str, kind: &str, detail: &str| {
        let answers = import(
            &server,
            query,
            &[("feed.xml", feed(kind, detail).as_bytes())],
        );
        assert_eq!(answers.len(), 1);
        let field = |change: &Value| change["field"].as_str().expect("a field").to_owned();
        let changes = answers[0]["changes"].as_array().cloned();
        let mut fields: Vec<String> = changes.unwrap_or_default().iter().map(field).collect();
        fields.sort_unstable();
        fields
    };
    assert_eq!(
        send("", "03", licence),
        ["from", "identifiers", "otherwise", "rights"]
    );
    let known = record(&server, id);
    assert_eq!(known["rights"], "free");
    assert_eq!(
        known["standing"]["validity"],
        json!({"from": "2030-01-01", "otherwise": "protected"})
    );
    assert_eq!(
        send("territory=FR", "03", sales),
        ["from", "otherwise", "rights"]
    );
    assert_eq!(record(&server, id)["rights"], "unknown");
    assert_eq!(send("", "04", sales), ["rights"]);
    assert_eq!(record(&server, id)["rights"], "protected");

    assert_eq!(send("dry_run=true", "05", ""), ["disabled"]);
    assert_eq!(record(&server, id)["standing"]["disabled_at"], Value::Null);
    assert_eq!(send("", "05", ""), ["disabled"]);
    assert_eq!(send("", "05", ""), Vec::<String>::new());
    assert!(record(&server, id)["standing"]["disabled_at"].is_string());
    assert_eq!(send("", "03", ""), ["disabled"]);
    assert_eq!(record(&server, id)["standing"]["disabled_at"], Value::Null);

    let by_hand = json!({"disabled": true, "note": "by hand"}).to_string();
    server
        .send(
            "PATCH",
            &path,
            &[("Content-Type", JSON)],
            by_hand.as_bytes(),
        )
        .expect(200);
    assert_eq!(send("", "03", ""), Vec::<String>::new());
    assert!(record(&server, id)["standing"]["disabled_at"].is_string());
    server
        .post(
            "/v1/libraries/house/table?territory=Mars",
            "application/xml",
            feed("03", ""),
        )
        .problem(400, "bad_query", "territory");
}

#[test]
fn what_is_no_table_is_refused_as_a_whole() {
    let server = library();
    let many = "id\n".to_owned() + &"x\n".repeat(10_001);
    let table: [(&[u8], &str); 5] = [
        (b"id,colour\n1,red", "no column 'colour'"),
        (b"PK\x03\x04 and nothing more", "cannot be read"),
        (b"<html></html>", "not an ONIX feed"),
        (b"%PDF-1.7\n", "not a text"),
        (many.as_bytes(), "more than 10000 rows"),
    ];
    for (content, says) in table {
        let detail = send(&server, "", &[("t", content)]).problem(422, "bad_table", says);
        assert!(detail.contains(says), "{detail}");
    }
    send(&server, "", &[]).problem(400, "bad_form", "no file");
    send(&server, "colour=red", &[("t", b"id\n1")]).problem(400, "bad_query", "colour");
    assert_eq!(import(&server, "", &[("t", b"")]), Vec::<Value>::new());
    // Without files, a table needs no form.
    let path = "/v1/libraries/house/table?dry_run=true";
    let answers = server
        .post(path, "text/csv; charset=utf-8", "id,title\n1,Old\n")
        .lines();
    assert_eq!(outcomes(&answers), [(2, "1", "unchanged")]);
    server
        .post(path, "text/plain", "id\n1")
        .problem(415, "unknown_content_type", "no table");
    // A new book needs rights, and a row is for its own library.
    let text = prose(8, 2_000);
    let table = b"id,library\nnew,house\n1,other\n";
    let answers = import(&server, "", &[("t", table), ("new.txt", text.as_bytes())]);
    assert_eq!(
        outcomes(&answers),
        [(2, "new", "refused"), (3, "1", "refused")]
    );
}
