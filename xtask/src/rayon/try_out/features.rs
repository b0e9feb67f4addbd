//! The features of a program that is tried out.

/// The features to build a crate with, by cargo's own options.
#[derive(clap::Args, Default)]
pub(super) struct Features {
    /// Features of the crate to build it with, separated by commas; may be repeated
    #[arg(long, value_name = "FEATURES")]
    features: Vec<String>,

    /// Build with all features of the crate
    #[arg(long)]
    all_features: bool,

    /// Build without the crate's default features
    #[arg(long)]
    no_default_features: bool,
}

impl Features {
    /// Returns cargo's options for them.
    pub(super) fn options(&self) -> Vec<&str> {
        let features = self.features.iter();
        let mut options: Vec<_> = features.flat_map(|names| ["--features", names]).collect();
        options.extend(self.all_features.then_some("--all-features"));
        options.extend(self.no_default_features.then_some("--no-default-features"));
        options
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::super::Arguments;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn features_are_passed_to_cargo() {
        let options = |line: &str| {
            let words = format!("rayon-run {line} -- --features of-the-program");
            let line = CommandLine::try_parse_from(words.split(' ')).unwrap();
            line.arguments.features.options().join(" ")
        };
        assert_eq!(options("tokei"), "");
        assert_eq!(options("tokei --features a,b"), "--features a,b");
        assert_eq!(
            options("--features a tokei --no-default-features --features b"),
            "--features a --features b --no-default-features"
        );
        assert_eq!(options("tokei --all-features"), "--all-features");
    }
}
