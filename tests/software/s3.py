"""Serves S3 with moto on a port of this machine. Moto takes any signature, so those of addresses are compared with botocore's, for the
access key `id` with the secret `secret`."""

import sys
from urllib.parse import parse_qs, urlsplit

from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import run_simple


def is_signed(environ):
    url = f"http://{environ['HTTP_HOST']}{environ['RAW_URI']}"
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    if "X-Amz-Signature" not in query:
        return "HTTP_AUTHORIZATION" in environ
    signed = query["X-Amz-SignedHeaders"].split(";")
    headers = {name: environ["HTTP_" + name.upper().replace("-", "_")] for name in signed}
    unsigned = url.replace(f"&X-Amz-Signature={query['X-Amz-Signature']}", "")
    request = AWSRequest(environ["REQUEST_METHOD"], unsigned, headers)
    request.context["timestamp"] = query["X-Amz-Date"]
    auth = S3SigV4QueryAuth(Credentials("id", "secret"), "s3", "us-east-1")
    text = auth.string_to_sign(request, auth.canonical_request(request))
    return auth.signature(text, request) == query["X-Amz-Signature"]


moto = DomainDispatcherApplication(create_backend_app)


def app(environ, start_response):
    if is_signed(environ):
        return moto(environ, start_response)
    start_response("403 Forbidden", [("Content-Length", "0")])
    return []


run_simple("127.0.0.1", int(sys.argv[1]), app, threaded=True)
