"""moto's S3 on a free port, printed first; ends with its input. Open multipart uploads are listed two a page,
as S3 lists a thousand: moto has them all in one."""
import os
import re
import sys
import threading
from urllib.parse import parse_qs
from xml.sax.saxutils import escape, unescape

from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

PAGE = 2


def paged(text, query):
    """The page after the markers of the query, cut out of the whole list."""
    uploads = re.findall(r"<Upload>.*?</Upload>", text, re.S)

    def place(upload):
        key = unescape(re.search(r"<Key>(.*?)</Key>", upload, re.S).group(1))
        return key, re.search(r"<UploadId>(.*?)</UploadId>", upload).group(1)

    uploads.sort(key=place)
    if "key-marker" in query:
        after = query["key-marker"][0], query.get("upload-id-marker", [""])[0]
        uploads = [upload for upload in uploads if place(upload) > after]
    page = uploads[:PAGE]
    end = "<IsTruncated>false</IsTruncated>"
    if len(uploads) > PAGE:
        key, number = place(page[-1])
        end = (
            f"<IsTruncated>true</IsTruncated><NextKeyMarker>{escape(key)}</NextKeyMarker>"
            f"<NextUploadIdMarker>{number}</NextUploadIdMarker>"
        )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<ListMultipartUploadsResult '
        f'xmlns="http://s3.amazonaws.com/doc/2006-03-01/">{end}{"".join(page)}</ListMultipartUploadsResult>'
    )


class Pages:
    def __init__(self, app):
        self.app = app

    def __call__(self, environ, start_response):
        query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
        if environ["REQUEST_METHOD"] != "GET" or "uploads" not in query:
            return self.app(environ, start_response)
        answer = []
        body = b"".join(self.app(environ, lambda status, headers, *_: answer.extend([status, headers])))
        status, headers = answer
        if status.startswith("200"):
            body = paged(body.decode(), query).encode()
        headers = [(name, value) for name, value in headers if name.lower() != "content-length"]
        start_response(status, headers + [("Content-Length", str(len(body)))])
        return [body]


class Silent(WSGIRequestHandler):
    protocol_version = "HTTP/1.1"

    def log(self, *_):
        pass


def end_with_input():
    sys.stdin.read()
    os._exit(0)


server = make_server(
    "127.0.0.1",
    0,
    Pages(DomainDispatcherApplication(create_backend_app)),
    threaded=True,
    request_handler=Silent,
)
print(server.server_port, flush=True)
threading.Thread(target=end_with_input, daemon=True).start()
server.serve_forever()
