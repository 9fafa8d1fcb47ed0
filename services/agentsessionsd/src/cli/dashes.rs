//! Long flags may be written with one dash, as programs written in Go have them.

use std::ffi::OsString;

use clap::{Arg, Command};

/// `args`, the name of the program first, with two dashes before every long flag of `grammar`, which must be built.
/// What follows a flag that takes a value is its value, whatever it looks like.
#[must_use]
pub fn doubled(grammar: &Command, args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut args = args.into_iter();
    let mut command = grammar;
    let mut done: Vec<_> = args.next().into_iter().collect();
    while let Some(arg) = args.next() {
        if arg == "--" {
            done.push(arg);
            break;
        }
        match arg.to_str().and_then(|text| flag(command, text)) {
            Some((text, needs_value)) => {
                done.push(text);
                done.extend(needs_value.then(|| args.next()).flatten());
            }
            None => {
                command = arg.to_str().and_then(|name| command.find_subcommand(name)).unwrap_or(command);
                done.push(arg);
            }
        }
    }
    done.extend(args);
    done
}

/// `text` with two dashes, if it is a long flag of `command`, and whether the next argument is its value.
fn flag(command: &Command, text: &str) -> Option<(OsString, bool)> {
    let rest = text.strip_prefix('-')?;
    let rest = rest.strip_prefix('-').unwrap_or(rest);
    let (name, value) = rest.split_once('=').map_or((rest, None), |(name, value)| (name, Some(value)));
    let arg = command.get_arguments().find(|arg| arg.get_long() == Some(name))?;
    Some((format!("--{rest}").into(), takes_value(arg) && value.is_none()))
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|count| count.takes_values())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grammar() -> Command {
        let mut grammar = Command::new("p")
            .arg(Arg::new("common").long("common").global(true))
            .subcommand(
                Command::new("run").arg(Arg::new("input").long("input")).arg(Arg::new("x").short('x').long("xx")),
            )
            .subcommand(Command::new("input"));
        grammar.build();
        grammar
    }

    fn doubled(line: &str) -> String {
        let args = super::doubled(&grammar(), line.split(' ').map(OsString::from));
        args.iter().map(|arg| arg.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn long_flags_get_a_second_dash() {
        assert_eq!(doubled("p -common a run -input b -xx=c"), "p --common a run --input b --xx=c");
        assert_eq!(doubled("p run -help"), "p run --help");
    }

    #[test]
    fn what_is_no_long_flag_stays() {
        assert_eq!(doubled("p run -x v --input b - -unknown"), "p run -x v --input b - -unknown");
    }

    #[test]
    fn a_value_is_never_a_flag_or_a_command() {
        assert_eq!(doubled("p run -input -common -common input"), "p run --input -common --common input");
    }

    #[test]
    fn nothing_after_two_bare_dashes_is_a_flag() {
        assert_eq!(doubled("p run -- -input"), "p run -- -input");
    }
}
