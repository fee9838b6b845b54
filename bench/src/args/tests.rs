use super::*;

fn parse(line: &str) -> Result<Args, String> {
    Args::parse(line.split_whitespace().map(str::to_owned))
}

#[track_caller]
fn check_error(line: &str, expected: &str) {
    assert_eq!(parse(line).unwrap_err(), expected);
}

#[test]
fn full_line() {
    let args = parse("--quick callid --rounds 9 --json").unwrap();
    assert_eq!(args.bench, Bench::CallId);
    assert_eq!(args.format, Format::JsonLines);
    assert_eq!((args.plan.rounds, args.plan.sample), (9, Plan::QUICK.sample));
}

#[test]
fn defaults() {
    let args = parse("dispatch").unwrap();
    assert_eq!((args.bench, args.format), (Bench::Dispatch, Format::Table));
    assert_eq!((args.plan.rounds, args.plan.sample), (31, Plan::FULL.sample));
}

#[test]
fn values_of_the_proof() {
    assert_eq!(parse("agreement").unwrap().values, 1_000_000);
    assert_eq!(parse("agreement --values 5000").unwrap().values, 5_000);
}

#[test]
fn size_of_artifacts() {
    let options = |line| {
        let options = parse(line).unwrap().artifacts;
        (options.bytes, options.rounds, options.keep)
    };
    assert_eq!(options("artifacts"), (256 << 20, 7, false));
    assert_eq!(options("artifacts --quick --bytes 1G --keep"), (1 << 30, 3, true));
    assert_eq!(options("artifacts --rounds 2 --bytes 1000"), (1000, 2, false));
}

#[test]
fn rounds_of_streams() {
    assert_eq!(parse("stream").unwrap().stream.rounds, 7);
    assert_eq!(parse("stream --quick").unwrap().stream.rounds, 3);
    assert_eq!(parse("stream --quick --rounds 2").unwrap().stream.rounds, 2);
}

#[test]
fn size_of_turns() {
    let options = |line| {
        let options = parse(line).unwrap().turns;
        (options.rounds, options.full)
    };
    assert_eq!(options("turns"), (7, false));
    assert_eq!(options("turns --quick --full"), (3, true));
}

#[test]
fn mistakes() {
    check_error("", "no benchmark named");
    check_error("dispatch callid", "unexpected argument `callid`");
    check_error("dispatch --jsn", "unexpected argument `--jsn`");
    check_error("dispatch --rounds", "`--rounds` needs a number");
    check_error("dispatch --rounds 0", "`--rounds` needs a positive number and got `0`");
    check_error("artifacts --bytes", "`--bytes` needs a size");
    check_error("artifacts --bytes M", "`--bytes` needs a size such as 64M and got `M`");
    check_error("agreement --values x", "`--values` needs a positive number and got `x`");
}

#[test]
fn turns_of_a_conversation() {
    assert_eq!(parse("conversation").unwrap().conversation.turns, 1_000);
    assert_eq!(parse("conversation --quick").unwrap().conversation.turns, 200);
}
