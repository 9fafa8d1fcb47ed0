use proptest::prelude::*;

use super::*;

fn tcp_target(host: &str, port: u16) -> Target {
    Target::Tcp { host: host.to_owned(), port: NonZeroU16::new(port).unwrap() }
}

#[test]
fn every_form_of_the_contract_is_understood_and_shown_as_written() {
    let cases = [
        ("127.0.0.1:9000", tcp_target("127.0.0.1", 9000)),
        ("localhost:1", tcp_target("localhost", 1)),
        ("agents.example.com.:65535", tcp_target("agents.example.com.", 65535)),
        ("my_service:80", tcp_target("my_service", 80)),
        ("[::1]:80", tcp_target("::1", 80)),
        ("dns:///127.0.0.1:9000", tcp_target("127.0.0.1", 9000)),
        ("dns:///[2001:db8::1]:9000", tcp_target("2001:db8::1", 9000)),
        ("dns://8.8.8.8/agents:9000", tcp_target("agents", 9000)),
        ("dns://8.8.8.8:53/agents:9000", tcp_target("agents", 9000)),
        ("dns://[::1]:53/agents:9000", tcp_target("agents", 9000)),
        ("dns://[::1]/agents:9000", tcp_target("agents", 9000)),
        ("unix:run/agent.sock", Target::Unix("run/agent.sock".into())),
        ("unix:/run/agent.sock", Target::Unix("/run/agent.sock".into())),
        ("unix:///run/agent.sock", Target::Unix("/run/agent.sock".into())),
        ("unix://run/agent.sock", Target::Unix("run/agent.sock".into())),
    ];
    for (text, target) in cases {
        let address: HarnessAddress = text.parse().unwrap();
        assert_eq!(address.target(), &target, "{text}");
        assert_eq!(address.to_string(), text);
    }
}

#[test]
fn everything_else_is_refused_with_its_reason() {
    let long = format!("unix:{}", "p".repeat(MAX_SOCKET_PATH + 1));
    let cases = [
        ("", AddressProblem::Port),
        ("host", AddressProblem::Port),
        ("host:", AddressProblem::Port),
        ("host:0", AddressProblem::Port),
        ("host:65536", AddressProblem::Port),
        ("host:+80", AddressProblem::Port),
        ("host:http", AddressProblem::Port),
        (":80", AddressProblem::Host),
        ("::1:80", AddressProblem::Host),
        ("[::1]", AddressProblem::Host),
        ("[::1%eth0]:80", AddressProblem::Host),
        ("300.0.0.1:80", AddressProblem::Host),
        ("a b:80", AddressProblem::Host),
        ("a..b:80", AddressProblem::Host),
        ("-a:80", AddressProblem::Host),
        ("user@host:80", AddressProblem::Host),
        ("dns:80", AddressProblem::SchemeAsHost),
        ("UNIX:80", AddressProblem::SchemeAsHost),
        ("dns:///xds:80", AddressProblem::SchemeAsHost),
        ("dns:host:80", AddressProblem::Host),
        ("dns:///host", AddressProblem::Port),
        ("dns://host:80", AddressProblem::Dns),
        ("dns://a b/host:80", AddressProblem::Host),
        ("dns://resolver:0/host:80", AddressProblem::Port),
        ("http://host:80", AddressProblem::Scheme),
        ("passthrough:///host:80", AddressProblem::Scheme),
        ("unix:", AddressProblem::Path),
        ("unix://", AddressProblem::Path),
        ("unix:a\0b", AddressProblem::Path),
        (long.as_str(), AddressProblem::Path),
    ];
    for (text, problem) in cases {
        assert_eq!(text.parse::<HarnessAddress>().unwrap_err().problem, problem, "{text}");
    }
}

proptest! {
    #[test]
    fn any_text_is_an_address_shown_as_written_or_an_error(text in r"(dns://|unix:|http://)?[a-z0-9:/.\[\]-]{0,20}|\PC{0,12}") {
        if let Ok(address) = text.parse::<HarnessAddress>() {
            prop_assert_eq!(address.to_string(), text);
        }
    }
}
