//! S3's answers about multipart uploads that are open: a page of uploads, a page of an upload's parts. Reads
//! text, asks nothing.
use std::time::SystemTime;

use serde::Deserialize;

use super::s3::time;
use super::Location;

/// A multipart upload that was begun and neither completed nor aborted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    pub location: Location,
    pub id: String,
    pub begun: SystemTime,
}

/// What a page has, and the query of the one after it.
#[derive(Debug, PartialEq, Eq)]
pub struct Page<T> {
    pub entries: Vec<T>,
    pub next: Vec<(String, String)>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Uploads {
    #[serde(default)]
    is_truncated: bool,
    next_key_marker: Option<String>,
    next_upload_id_marker: Option<String>,
    #[serde(default, rename = "Upload")]
    uploads: Vec<OneUpload>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct OneUpload {
    key: String,
    upload_id: String,
    initiated: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Parts {
    #[serde(default)]
    is_truncated: bool,
    next_part_number_marker: Option<String>,
    #[serde(default, rename = "Part")]
    parts: Vec<Part>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Part {
    size: u64,
}

pub fn page_of_uploads(text: &str, bucket: &Location) -> Result<Page<Upload>, String> {
    let read: Uploads = quick_xml::de::from_str(text).map_err(|cause| cause.to_string())?;
    let upload = |one: OneUpload| {
        let begun = time(&one.initiated);
        let begun = begun.ok_or_else(|| format!("{:?} is no time", one.initiated))?;
        Ok(Upload { location: bucket.join(&one.key), id: one.upload_id, begun })
    };
    let entries = read.uploads.into_iter().map(upload).collect::<Result<_, String>>()?;
    let markers =
        [("key-marker", read.next_key_marker), ("upload-id-marker", read.next_upload_id_marker)];
    Ok(Page { entries, next: next(read.is_truncated, markers) })
}

pub fn page_of_parts(text: &str) -> Result<Page<u64>, String> {
    let read: Parts = quick_xml::de::from_str(text).map_err(|cause| cause.to_string())?;
    let markers = [("part-number-marker", read.next_part_number_marker)];
    let entries = read.parts.into_iter().map(|part| part.size).collect();
    Ok(Page { entries, next: next(read.is_truncated, markers) })
}

fn next(
    truncated: bool,
    markers: impl IntoIterator<Item = (&'static str, Option<String>)>,
) -> Vec<(String, String)> {
    let given = markers.into_iter().filter_map(|(name, value)| {
        let value = value.filter(|value| truncated && !value.is_empty())?;
        Some((name.to_owned(), value))
    });
    given.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn bucket() -> Location {
        Location::parse("s3://b").expect("a location")
    }

    /// As S3 answers, with an ampersand in a key and owners that are of no interest.
    #[test]
    fn a_page_of_uploads_is_read() {
        let text = r#"<?xml version="1.0" encoding="UTF-8"?>
<ListMultipartUploadsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Bucket>b</Bucket><KeyMarker/>
<NextKeyMarker>job/shared/a&amp;b</NextKeyMarker><NextUploadIdMarker>id-2</NextUploadIdMarker>
<MaxUploads>2</MaxUploads><IsTruncated>true</IsTruncated>
<Upload><Key>job/shared/x</Key><UploadId>id-1</UploadId><Initiator><ID>i</ID></Initiator>
<StorageClass>STANDARD</StorageClass><Initiated>1970-01-02T00:00:01.000Z</Initiated></Upload>
<Upload><Key>job/shared/a&amp;b</Key><UploadId>id-2</UploadId><Initiated>1970-01-01T00:00:00Z</Initiated></Upload>
</ListMultipartUploadsResult>"#;
        let page = page_of_uploads(text, &bucket()).expect("a page");
        let first = Upload {
            location: bucket().join("job/shared/x"),
            id: "id-1".to_owned(),
            begun: SystemTime::UNIX_EPOCH + Duration::from_secs(86_401),
        };
        assert_eq!(page.entries[0], first);
        assert_eq!(page.entries[1].location, bucket().join("job/shared/a&b"));
        let next = [("key-marker", "job/shared/a&b"), ("upload-id-marker", "id-2")];
        assert_eq!(page.next, next.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    /// Markers count only where the page is cut off, so that no listing is endless.
    #[test]
    fn the_last_page_has_no_next_one() {
        let text = "<ListMultipartUploadsResult><NextKeyMarker>x</NextKeyMarker>\
                    <IsTruncated>false</IsTruncated></ListMultipartUploadsResult>";
        let page = page_of_uploads(text, &bucket()).expect("a page");
        assert_eq!(page, Page { entries: Vec::new(), next: Vec::new() });
        let text = "<ListPartsResult><IsTruncated>true</IsTruncated>\
                    <NextPartNumberMarker>2</NextPartNumberMarker><Part><PartNumber>1</PartNumber>\
                    <Size>5</Size></Part><Part><PartNumber>2</PartNumber><Size>7</Size></Part></ListPartsResult>";
        let page = page_of_parts(text).expect("a page");
        assert_eq!(page.entries, [5, 7]);
        assert_eq!(page.next, [("part-number-marker".to_owned(), "2".to_owned())]);
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        for wrong in ["", "<html>", "{}", "<R><Upload><Key>x</Key></Upload></R>"] {
            assert!(page_of_uploads(wrong, &bucket()).is_err(), "{wrong}");
        }
        let no_time =
            "<R><Upload><Key>x</Key><UploadId>i</UploadId><Initiated>soon</Initiated></Upload></R>";
        assert_eq!(page_of_uploads(no_time, &bucket()), Err("\"soon\" is no time".to_owned()));
    }
}
