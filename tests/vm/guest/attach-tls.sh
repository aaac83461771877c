# A server that requires TLS and a certificate of its clients: the kernel's requests go in clear text to
# nbd-client's proxy and from there encrypted.
. /scenarios/lib.sh

# certificate NAME CA-OPTION... : NAME-cert.pem and NAME-key.pem, from the template on standard input.
certificate() {
    name=$1
    shift
    cat >"$name.template"
    certtool --generate-privkey --ecc --outfile "pki/$name-key.pem"
    certtool --template "$name.template" --load-privkey "pki/$name-key.pem" "$@" --outfile "pki/$name-cert.pem"
}

signed="--generate-certificate --load-ca-certificate pki/ca-cert.pem --load-ca-privkey pki/ca-key.pem"
mkdir pki
{
    printf 'cn = authority\nca\ncert_signing_key\n' | certificate ca --generate-self-signed
    # shellcheck disable=SC2086  # words
    printf 'cn = box\ndns_name = box\ntls_www_server\nsigning_key\n' | certificate server $signed
    # shellcheck disable=SC2086
    printf 'cn = guest\ntls_www_client\nsigning_key\n' | certificate client $signed
} 2>certtool.log || fail "certtool: $(cat certtool.log)"

serve memory:64M --port 10809 --tls require --tls-certs "$PWD/pki" --tls-verify-peer
if blkscope attach nbd://127.0.0.1/ /dev/nbd0 2>refusal; then fail "attached without TLS"; fi
blkscope attach "nbds://127.0.0.1/?tls-certificates=$PWD/pki&tls-hostname=box" /dev/nbd0
same "size in sectors" "$(disk size)" 131072
try_filesystem
blkscope detach /dev/nbd0
within 60 detached
stop_server
