//! The file that says where each process listens.

use std::{fs, path::Path};

use crate::ClusterError;

/// Reads a file of hosts: in line I, `HOST:PORT` of process I. Empty lines do not count.
///
/// # Errors
/// If the file cannot be read, a line is no `HOST:PORT`, or the number of lines is not that of the
/// processes.
pub fn read_hosts(path: &Path, processes: usize) -> Result<Vec<String>, ClusterError> {
    let text = fs::read_to_string(path).map_err(|source| ClusterError::File {
        path: path.to_owned(),
        source,
    })?;
    let mut hosts = Vec::new();
    for (index, line) in text.lines().map(str::trim).enumerate() {
        if line.is_empty() {
            continue;
        }
        let port = line.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        if port.is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
            return Err(ClusterError::HostLine {
                path: path.to_owned(),
                line: index + 1,
                text: line.to_owned(),
            });
        }
        hosts.push(line.to_owned());
    }
    if hosts.len() != processes {
        return Err(ClusterError::Hosts {
            path: path.to_owned(),
            lines: hosts.len(),
            processes,
        });
    }
    Ok(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, processes: usize) -> Result<Vec<String>, ClusterError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("hosts");
        fs::write(&path, text).unwrap();
        read_hosts(&path, processes)
    }

    #[test]
    fn reads_one_address_for_each_process() {
        let hosts = read("127.0.0.1:4000\n\n  [::1]:4001 \nnode-2:80", 3).unwrap();
        assert_eq!(hosts, ["127.0.0.1:4000", "[::1]:4001", "node-2:80"]);
    }

    #[test]
    fn a_wrong_number_of_lines_is_an_error() {
        for (text, lines) in [("", 0), ("a:1", 1), ("a:1\nb:2\nc:3", 3)] {
            let error = read(text, 2).unwrap_err();
            assert!(
                matches!(error, ClusterError::Hosts { lines: found, processes: 2, .. } if found == lines),
                "{error}"
            );
        }
    }

    #[test]
    fn a_line_that_is_no_address_is_named() {
        for text in ["a", "a:", "a:port", ":80", "a:70000"] {
            let error = read(&format!("good:1\n{text}\n"), 2).unwrap_err();
            assert!(
                matches!(&error, ClusterError::HostLine { line: 2, text: found, .. } if found == text),
                "{error}"
            );
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_hosts(Path::new("/no/such/hosts"), 1).unwrap_err();
        assert!(error.to_string().starts_with("/no/such/hosts: "), "{error}");
    }
}
