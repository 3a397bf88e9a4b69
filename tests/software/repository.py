"""A repository that speaks OAI-PMH, made of the package oai_repo: 5,000 records of the set `books` in Dublin Core and MARC 21, 100 on a
page, and the texts that they link to. After the 20th page it deletes ten records, so that its resumption tokens expire.

Prints its address."""

import sys
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from random import Random
from urllib.parse import parse_qsl, urlsplit

import oai_repo
from lxml import etree

RECORDS = 5_000
DELETED = range(1_000, 1_010)
SYLLABLES = ["ba", "re", "ko", "sti", "lu", "mno", "gra", "che", "pa", "tro", "sil", "ven", "mur", "dek", "lo", "ghi"]
ADDED = datetime(2020, 1, 1, tzinfo=timezone.utc)
NOW = datetime.now(timezone.utc).replace(microsecond=0)


class Data(oai_repo.DataInterface):
    limit = 100

    def __init__(self, url):
        self.url = url
        self.pages = 0
        self.deleted = set()

    def get_identify(self):
        identify = oai_repo.Identify()
        identify.repository_name = "Books"
        identify.base_url = f"{self.url}/oai"
        identify.admin_email = ["mail@example.org"]
        identify.earliest_datestamp = "2020-01-01T00:00:00Z"
        identify.deleted_record = "persistent"
        identify.granularity = "YYYY-MM-DDThh:mm:ssZ"
        return identify

    def is_valid_identifier(self, identifier):
        number = identifier.removeprefix("oai:books:")
        return number.isdigit() and int(number) < RECORDS

    def get_metadata_formats(self, identifier=None):
        return [
            oai_repo.MetadataFormat(
                "oai_dc", "http://www.openarchives.org/OAI/2.0/oai_dc.xsd", "http://www.openarchives.org/OAI/2.0/oai_dc/"
            ),
            oai_repo.MetadataFormat(
                "marc21", "http://www.loc.gov/standards/marcxml/schema/MARC21slim.xsd", "http://www.loc.gov/MARC21/slim"
            ),
        ]

    def get_record_header(self, identifier):
        is_deleted = identifier in self.deleted
        header = oai_repo.RecordHeader()
        header.identifier = identifier
        header.datestamp = NOW if is_deleted else ADDED
        header.setspecs = ["books"]
        header.status = "deleted" if is_deleted else None
        return header

    def get_record_metadata(self, identifier, metadataprefix):
        number = int(identifier.removeprefix("oai:books:"))
        if identifier in self.deleted:
            return None
        link = f"{self.url}/text/{number}.txt"
        if metadataprefix == "oai_dc":
            return etree.fromstring(
                '<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/">'
                f"<dc:title>Book {number}</dc:title><dc:creator>A. Author</dc:creator><dc:language>en</dc:language>"
                f"<dc:identifier>{link}</dc:identifier></oai_dc:dc>"
            )
        return etree.fromstring(
            '<record xmlns="http://www.loc.gov/MARC21/slim"><leader>00000nam a2200000 a 4500</leader>'
            '<datafield tag="100" ind1="1" ind2=" "><subfield code="a">Author, A.,</subfield></datafield>'
            f'<datafield tag="245" ind1="1" ind2="0"><subfield code="a">Book {number} /</subfield></datafield>'
            f'<datafield tag="856" ind1="4" ind2="0"><subfield code="u">{link}</subfield></datafield></record>'
        )

    def get_record_abouts(self, identifier):
        return []

    def list_set_specs(self, identifier=None, cursor=0):
        return ["books"], 1, None

    def get_set(self, setspec):
        return oai_repo.Set("books", "Books", []) if setspec == "books" else None

    def list_identifiers(self, metadataprefix, filter_from=None, filter_until=None, filter_set=None, cursor=0):
        self.pages += 1
        if self.pages == 20:
            self.deleted = {f"oai:books:{number}" for number in DELETED}
        of = [f"oai:books:{number}" for number in range(RECORDS)]
        if filter_from:
            of = [identifier for identifier in of if self.get_record_header(identifier).datestamp >= filter_from]
        cursor = cursor or 0
        return of[cursor : cursor + self.limit], len(of), f"{len(self.deleted)} deleted"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body in one packet. Otherwise the second waits for the client, which waits for it.
    wbufsize = -1

    def do_GET(self):
        url = urlsplit(self.path)
        body, status, kind = b"", 200, "text/plain"
        if url.path == "/oai":
            body, kind = bytes(repository.process(dict(parse_qsl(url.query)))), "text/xml"
        elif url.path.startswith("/text/"):
            random = Random(url.path)
            words = ("".join(random.choices(SYLLABLES, k=4)) for _ in range(200))
            body = " ".join(words).encode()
        else:
            status = 404
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
address = f"http://127.0.0.1:{server.server_address[1]}"
repository = oai_repo.OAIRepository(Data(address))
print(address)
sys.stdout.flush()
server.serve_forever()
