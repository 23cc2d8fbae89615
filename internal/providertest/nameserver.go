package providertest

import (
	"context"
	"encoding/binary"
	"io"
	"log"
	"net"
)

// Quiet is for servers whose complaints about their clients are what a test is
// about.
var Quiet = log.New(io.Discard, "", 0)

// knowNoHost answers every question of this process to the DNS by itself, and says
// that there is no such host: tests ask nobody beyond this machine.
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

// answerNoSuchHost speaks DNS over TCP: a length, and the question turned into its
// own answer by two bits and a code.
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
