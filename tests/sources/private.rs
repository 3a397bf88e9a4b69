//! Public servers that lead to private ones. In a network of its own, this machine has public addresses.

use super::*;
use crate::common::network::{ip, is_own};

/// The addresses of servers that only this machine and its network reach.
pub const PRIVATE: [&str; 6] = [
    "127.0.0.1",
    "10.0.0.1",
    "192.168.7.7",
    "169.254.169.254",
    "[::1]",
    "[fd00::7]",
];

pub fn redirect(to: &str) -> Answer {
    Answer {
        status: "302 Found",
        headers: format!("Location: {to}\r\n"),
        ..found("")
    }
}

/// Gives this machine the addresses of public and private servers.
pub fn give_addresses() {
    ip("link set lo up");
    for address in ["8.8.8.8", "10.0.0.1", "192.168.7.7", "169.254.169.254"] {
        ip(&format!("addr add {address}/32 dev lo"));
    }
    for address in ["2001:4860:4860::8888", "fd00::7"] {
        ip(&format!("-6 addr add {address}/128 dev lo nodad"));
    }
}

/// A list of a public server: its own book, and what leads to each private server.
fn set_list(public: &Site, private: &[Site]) {
    public.books(0..1);
    let mut list = vec![format!("{}/book0.txt", public.url)];
    for (number, site) in private.iter().enumerate() {
        // Led there by a redirect, by the second of two, and directly.
        public.set(
            &format!("/to{number}"),
            redirect(&format!("{}/book1.txt", site.url)),
        );
        public.set(
            &format!("/first{number}"),
            redirect(&format!("/second{number}")),
        );
        public.set(
            &format!("/second{number}"),
            redirect(&format!("{}/book2.txt", site.url)),
        );
        list.extend(["to", "first"].map(|path| format!("{}/{path}{number}", public.url)));
        list.push(format!("{}/book3.txt", site.url));
    }
    let port = private[0].url.rsplit(':').next().expect("a port");
    list.push(format!("http://localhost:{port}/book4.txt"));
    public.set("/list.txt", found(list.join("\n")));
}

#[test]
fn a_public_server_cannot_lead_to_a_private_one() {
    if !is_own(&[]) {
        return;
    }
    give_addresses();
    let private = PRIVATE.map(Site::at);
    for site in &private {
        site.books(1..5);
    }
    let of_internet = "--contact me@example.org --rate 1000/s";
    for address in ["8.8.8.8", "[2001:4860:4860::8888]"] {
        let public = Site::at(address);
        set_list(&public, &private);
        let harvest = Harvest::new("sitemap", &format!("{}/list.txt", public.url), of_internet);
        assert_eq!(harvest.run(), (1, 1, 0, 3 * 6 + 1), "{}", harvest.summary());
        assert_eq!(harvest.ids(), [format!("{}/book0.txt", public.url)].into());
        let errors = run(
            "sources errors --json --data {} it",
            &[harvest.folder.data()],
        )
        .expect(0)
        .json();
        assert!(
            errors.iter().all(|error| error["reason"] == "private"),
            "{errors:?}"
        );

        // A source that is private itself, by a page that redirects, and by the rules of the host.
        for (number, site) in private.iter().enumerate() {
            let list = format!("{}/to{number}", public.url);
            assert_eq!(Harvest::new("opds", &list, of_internet).run(), (0, 0, 0, 1));
            public.set("/robots.txt", redirect(&format!("{}/robots.txt", site.url)));
            let harvest = Harvest::new("sitemap", &format!("{}/list.txt", public.url), of_internet);
            assert_eq!(harvest.run(), (0, 0, 0, 1), "{}", harvest.summary());
        }
        public
            .answers
            .lock()
            .expect("no panic")
            .remove("/robots.txt");
    }
    for site in &private {
        assert!(site.count().is_empty(), "{}: {:?}", site.url, site.count());
    }

    // They can be reached, where the source may.
    let public = Site::at("8.8.8.8");
    set_list(&public, &private);
    let harvest = Harvest::new(
        "sitemap",
        &format!("{}/list.txt", public.url),
        "--allow-private",
    );
    assert_eq!(harvest.run().1, 3 * 6 + 2, "{}", harvest.summary());
}
