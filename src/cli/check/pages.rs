//! Reports as HTML pages: one page, or a folder with a page for each file and an index.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use lapidary_catalogue::api::Report;
use lapidary_language::Language;
use lapidary_report::{Checked, CheckedReport, PageTexts, html_index, html_report, report_part};

use super::super::failure::Failure;
use super::super::terminal::write_page;

/// The name of the index in a folder of pages.
const INDEX: &str = "index.html";
/// Maximum length of a page's name, in characters. File systems allow 255 bytes.
const NAME: usize = 50;

/// Where the pages go.
pub(super) enum Pages {
    /// To one file.
    One(PathBuf),
    /// To a folder.
    Folder(PathBuf),
}

impl Pages {
    /// A path that ends in `.html` or `.htm` is one page, any other a folder, which is created.
    pub(super) fn at(path: &Path, files: usize) -> Result<Self, Failure> {
        let is_page = path
            .extension()
            .is_some_and(|ending| ending == "html" || ending == "htm")
            && !path.is_dir();
        if is_page && files == 1 {
            return Ok(Self::One(path.to_owned()));
        }
        if is_page {
            let why = format!(
                "--html {} is a page for one file, not {files}; give a folder",
                path.display()
            );
            return Err(Failure::Input(why));
        }
        fs::create_dir_all(path).map_err(|error| Failure::unwritable(path, &error))?;
        Ok(Self::Folder(path.to_owned()))
    }

    /// Writes the page of the file with this number, and returns its name.
    pub(super) fn write(
        &self,
        language: Language,
        number: usize,
        file: &str,
        report: &Report,
        texts: &PageTexts<'_>,
    ) -> Result<String, Failure> {
        let (path, name) = match self {
            Self::One(path) => (path.clone(), String::new()),
            Self::Folder(folder) => {
                let name = page_name(number, file);
                (folder.join(&name), name)
            }
        };
        let bytes = texts.text.map(|text| text.len() as u64);
        let checked = CheckedReport {
            name: file,
            report,
            bytes,
            texts,
            when: Timestamp::now(),
            standing: None,
            in_console: false,
            of_book: false,
            book_page: &|_| None,
        };
        let part = report_part(language, &checked);
        write_page(&path, &html_report(language, file, &part))?;
        Ok(name)
    }

    /// Writes the index of a folder.
    pub(super) fn finish(&self, language: Language, rows: &[Checked]) -> Result<(), Failure> {
        let Self::Folder(folder) = self else {
            return Ok(());
        };
        write_page(
            &folder.join(INDEX),
            &html_index(language, rows, Timestamp::now()),
        )
    }
}

/// A name such as `0001-upload.txt.html`, which needs no escaping in a link.
fn page_name(number: usize, file: &str) -> String {
    let name = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let name: String = name
        .chars()
        .take(NAME)
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '.' || c == '_' {
                c
            } else {
                '-'
            }
        })
        .collect();
    format!("{number:04}-{name}.html")
}

#[cfg(test)]
mod tests {
    use super::page_name;

    #[test]
    fn names_of_pages() {
        assert_eq!(
            page_name(1, "/a/b/upload one.txt"),
            "0001-upload-one.txt.html"
        );
        assert_eq!(page_name(12, "Мир & ?.fb2"), "0012--------.fb2.html");
        assert_eq!(page_name(3, &"x".repeat(300)).len(), 4 + 1 + 50 + 5);
        assert_eq!(page_name(10_000, ""), "10000-.html");
    }
}
