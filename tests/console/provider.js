// An identity provider: node provider.js NODE_MODULES PUBLIC_URL CLIENT_ID CLIENT_SECRET
const [modules, publicUrl, client_id, client_secret] = process.argv.slice(2);
const http = require('node:http');

import(`${modules}/oidc-provider/lib/index.js`).then(({ Provider }) => {
    const server = http.createServer();
    server.listen(0, 'localhost', () => {
        // Not the host of the server that people sign in to, so that it is another site.
        const issuer = `http://localhost:${server.address().port}`;
        const provider = new Provider(issuer, {
            clients: [{ client_id, client_secret, redirect_uris: [`${publicUrl}/console/oidc/callback`] }],
            findAccount: (_, email) => ({
                accountId: email,
                claims: () => ({ sub: email, email, email_verified: true, groups: ['editors', 'guests'] }),
            }),
            claims: { openid: ['sub'], email: ['email', 'email_verified'], groups: ['groups'] },
            scopes: ['openid', 'email', 'groups'],
            // Otherwise the claims of scopes are not in the ID token.
            conformIdTokenClaims: false,
            pkce: { required: () => true },
            cookies: { keys: ['a key'] },
        });
        server.on('request', provider.callback());
        console.log(issuer);
    });
});
