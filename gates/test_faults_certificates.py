"""A decoder that shows a certificate which nobody may take: our router sends nothing, says why, and takes it back."""

import datetime

import pytest
import trustme

from gates.running import body

pytestmark = pytest.mark.xdist_group("faults_certificates")
LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


def certificates(folder):
    """Files in PEM: the authority's, the decoder's own, and one for each fault."""
    authority, stranger = trustme.CA(), trustme.CA()
    day = datetime.timedelta(1)
    issued = {
        "good": authority.issue_cert("127.0.0.1"),
        "tls-wrong-name": authority.issue_cert("decoder.example"),
        "tls-expired": authority.issue_cert("127.0.0.1", not_before=LONG_AGO, not_after=LONG_AGO + day),
        "tls-unknown-authority": stranger.issue_cert("127.0.0.1"),
    }
    files = {name: folder / f"{name}.pem" for name in (*issued, "authority")}
    for name, one in issued.items():
        one.private_key_and_cert_chain_pem.write_to_path(files[name])
    authority.cert_pem.write_to_path(files["authority"])
    return files


WHY = {
    "tls-wrong-name": "IP address mismatch",
    "tls-expired": "certificate has expired",
    "tls-unknown-authority": "unable to get local issuer certificate",
}


@pytest.mark.parametrize("fault", WHY)
def test_nothing_is_sent_to_a_decoder_that_is_not_who_it_says(session, stage, fault):
    async def run():
        files = certificates(stage.folders.cwd)
        own = str(files["good"])
        decoder = await stage.fake("--ssl-cert-file", own, "--ssl-key-file", own, "--fault", f"{fault}={files[fault]}")
        router = await stage.router("--decoder", decoder.url, "--decoder-ca", str(files["authority"]), bound=True)
        await router.says(f"decoder {decoder.url} is not ready: its certificate is not trusted: ")
        assert WHY[fault] in router.log
        assert (await router.ask(body(1))).status == 503
        told = await decoder.tell("/state")
        assert told["faults"][fault]["fired"] >= 1
        assert {entry["event"] for entry in (await decoder.tell("/journal"))["entries"]} == {"start", "ready", "fault"}
        await decoder.tell("/faults", {"clear": True})
        await router.says(f"decoder {decoder.url} is ready")
        assert (await router.ask(body(1))).status == 200

    session.run(run())
