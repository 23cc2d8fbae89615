package providertest

import (
	"context"
	"encoding/binary"
	"io"
	"log"
	"net"
)

// Quiet discards the log of a server whose errors about its clients are expected.
var Quiet = log.New(io.Discard, "", 0)

// knowNoHost answers every DNS query of this process with "no such host".
func knowNoHost() {
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		asking, answering := net.Pipe()
		go func() {
			answerNoSuchHost(answering)
			_ = answering.Close()
		}()
		return asking, nil
	}}
}

// answerNoSuchHost answers DNS over TCP, where a length precedes the query. Setting one bit and a code turns
// the query into its answer.
func answerNoSuchHost(conn net.Conn) {
	const answer, noSuchHost = 0x80, 3
	for {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		message := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, message); err != nil || len(message) < 4 {
			return
		}
		message[2] |= answer
		message[3] = message[3]&0xf0 | noSuchHost
		if _, err := conn.Write(append(length[:], message...)); err != nil {
			return
		}
	}
}
