package bkapi

import (
	"net/http"
	"testing"
	"time"
)

func TestRetryPolicy_wait(t *testing.T) {
	t.Parallel()
	p := retryPolicy{waitMin: time.Second, waitMax: 30 * time.Second}
	for name, test := range map[string]struct {
		policy          retryPolicy
		attempt         int
		asked           time.Duration
		atLeast, atMost time.Duration
	}{
		"first":            {p, 1, 0, time.Second, 2 * time.Second},
		"third":            {p, 3, 0, 4 * time.Second, 8 * time.Second},
		"capped":           {p, 6, 0, 15 * time.Second, 30 * time.Second},
		"thousandth":       {p, 1000, 0, 15 * time.Second, 30 * time.Second},
		"asked":            {p, 1, time.Minute, time.Minute, time.Minute},
		"asked-for-little": {p, 1, time.Millisecond, time.Second, 2 * time.Second},
		"one-length":       {retryPolicy{waitMin: time.Second, waitMax: time.Second}, 4, 0, time.Second, time.Second},
		"none":             {retryPolicy{}, 4, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 200 {
				if got := test.policy.wait(test.attempt, test.asked); got < test.atLeast || got > test.atMost {
					t.Fatalf("got %s, want %s to %s", got, test.atLeast, test.atMost)
				}
			}
		})
	}
}

// Promised in limits.md: A platform that answers HTTP 429 is given the pause that it asks for.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		status int
		value  string
		want   time.Duration
	}{
		"seconds":         {429, "7", 7 * time.Second},
		"with-blanks":     {429, " 7 ", 7 * time.Second},
		"unavailable":     {503, "7", 7 * time.Second},
		"date":            {429, "Wed, 01 May 2024 12:00:30 GMT", 30 * time.Second},
		"date-in-past":    {429, "Wed, 01 May 2024 11:00:30 GMT", 0},
		"missing":         {429, "", 0},
		"negative":        {429, "-7", 0},
		"nonsense":        {429, "soon", 0},
		"too-long":        {429, "86400", time.Hour},
		"overflows":       {429, "99999999999999999999", 0},
		"date-too-far":    {429, "Wed, 01 May 2030 12:00:30 GMT", time.Hour},
		"other-status":    {502, "7", 0},
		"status-is-a-yes": {200, "7", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			header.Set("Retry-After", test.value)
			if got := retryAfter(answer{status: test.status, header: header}, now); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func FuzzRetryAfter(f *testing.F) {
	for _, value := range []string{"1", "-1", "9223372036854775808", "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 GMT", "soon", ""} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		ans := answer{status: http.StatusTooManyRequests, header: http.Header{"Retry-After": {value}}}
		if wait := retryAfter(ans, time.Unix(0, 0)); wait < 0 || wait > maxRetryAfter {
			t.Errorf("%q is a wait of %s", value, wait)
		}
	})
}
